/// Text that was kept to be sent as the value of a request's header.
enum HeaderText {
    private static let longest = 8192

    /// False for text that would end the header line (another program may have written it), and for what is too long.
    static func isValue(_ text: some StringProtocol) -> Bool {
        text.utf8.count <= longest && text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
    }
}
