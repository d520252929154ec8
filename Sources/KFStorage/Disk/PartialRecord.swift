/// What is written down about a partial body: its facts, then the checkpoints that confirm its bytes.
///
/// A line each, ended by a line feed: the format, the key's hash, the request, the total, the validator, the content
/// type, the location and the URL; then any number of checkpoints, each longer than the one before it. A line that was
/// cut short does not count.
struct PartialRecord: Equatable {
    let facts: PartialFacts
    let checkpoints: [Checkpoint]
    /// Of the lines ahead of the first checkpoint, in bytes.
    private let head: Int

    private static let format = "kf-partial 2"

    /// The text of a record without checkpoints. Nil when a fact would break its line.
    static func text(of facts: PartialFacts, key: Digest) -> String? {
        let lines = [
            format, key.hex, facts.request.hex, facts.total.map(String.init) ?? "-", facts.validator,
            facts.contentType ?? "", facts.location, facts.url,
        ]
        guard !lines.contains(where: { $0.utf8.contains(0x0a) }) else { return nil }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Nil when the facts are not whole, or belong to another key.
    init?(_ text: String, key: Digest) {
        var lines = text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).map { String(Substring($0)) }
        // What follows the last line feed.
        lines.removeLast()
        guard lines.count >= 8, lines[0] == Self.format, lines[1] == key.hex, let request = Digest(hex: lines[2]) else {
            return nil
        }
        let total = Int64(lines[3])
        guard lines[3] == "-" || (total ?? -1) >= 0, !lines[4].isEmpty, HeaderText.isValue(lines[4]) else { return nil }
        facts = PartialFacts(
            url: lines[7], location: lines[6], request: request, validator: lines[4],
            contentType: lines[5].isEmpty ? nil : lines[5], total: total)
        head = lines[..<8].reduce(0) { $0 + $1.utf8.count + 1 }
        var checkpoints: [Checkpoint] = []
        for line in lines[8...] {
            guard let checkpoint = Checkpoint(line: line), checkpoint.length > checkpoints.last?.length ?? 0 else {
                break
            }
            checkpoints.append(checkpoint)
        }
        self.checkpoints = checkpoints
    }

    /// The bytes of the record up to the end of so many checkpoints.
    func size(checkpoints count: Int) -> Int {
        checkpoints.prefix(count).reduce(head) { $0 + $1.line.utf8.count }
    }
}
