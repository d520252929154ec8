/// A `Content-Range: bytes first-last/total` of a 206.
struct ContentRange: Equatable {
    var first: Int64
    var last: Int64
    /// nil for `*`.
    var total: Int64?

    /// nil unless it is well-formed: first ≤ last < total.
    init?(_ text: String) {
        let words = text.trimmingBlanks.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].trimmingBlanks.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        if halves[1] == "*" {
            total = nil
        } else {
            guard let total = Self.number(halves[1]), last < total else { return nil }
            self.total = total
        }
        self.first = first
        self.last = last
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int64(text) : nil
    }
}
