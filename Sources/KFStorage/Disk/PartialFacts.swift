/// What has to be known of an interrupted body to go on with it.
package struct PartialFacts: Equatable, Sendable {
    /// Where it came from, without user info.
    package let url: String
    /// Which request: the address with every header that can change the answer.
    package let request: Digest
    /// For `If-Range`: a strong entity tag, or a date of last modification.
    package let validator: String
    /// Of the whole body, in bytes, if the origin said it.
    package let total: Int64?

    package init(url: String, request: Digest, validator: String, total: Int64?) {
        self.url = url
        self.request = request
        self.validator = validator
        self.total = total
    }
}

extension PartialFacts {
    // The facts' file: one line each for the format, the key's hash, the request, the total, the validator and the
    // address, each ended by a line feed, so that a file cut short is not taken for a whole one.
    private static let format = "kf-partial 1"

    /// Nil when one of them would break its line; such a body is not worth the trouble.
    func text(key: Digest) -> String? {
        let lines = [
            Self.format, key.hex, request.hex, total.map(String.init) ?? "-", validator, url,
        ]
        guard !lines.contains(where: { $0.utf8.contains(0x0a) }) else { return nil }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Nil when the text is not whole, or belongs to another key.
    init?(_ text: String, key: Digest) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 7, lines[6].isEmpty, lines[0] == Self.format, lines[1] == key.hex,
            let request = Digest(hex: lines[2])
        else { return nil }
        let total = Int64(lines[3])
        guard lines[3] == "-" || (total ?? -1) >= 0 else { return nil }
        self.init(url: String(lines[5]), request: request, validator: String(lines[4]), total: total)
    }
}
