/// The hash of the first `length` bytes of a body.
struct Checkpoint: Equatable, Sendable {
    let length: Int64
    let digest: Digest

    /// As it stands in a record, its line feed included.
    var line: String { "\(length) \(digest.hex)\n" }
}

extension Checkpoint {
    /// Nil when it is no line of a record; `line` is without its line feed.
    init?(line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let length = Int64(words[0]), length > 0, let digest = Digest(hex: words[1]) else {
            return nil
        }
        self.init(length: length, digest: digest)
    }
}
