/// A header as options write it: `Name: value`.
struct HeaderText {
    let name: String
    /// Without the white space around it.
    let value: String

    /// Nil when there is no colon, or no valid name before it.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isName(parts[0]) else { return nil }
        name = String(parts[0])
        var value = parts[1].drop(while: Self.isBlank)
        while let last = value.last, Self.isBlank(last) { value.removeLast() }
        self.value = String(value)
    }

    /// A token of RFC 9110.
    static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7f && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
