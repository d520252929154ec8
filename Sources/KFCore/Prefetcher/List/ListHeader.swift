/// A request header that a list gives for one image.
enum ListHeader {
    /// Headers of the connection and of the message's framing, and those that ask for another answer than the image.
    private static let refused: Set<String> = [
        "host", "connection", "content-length", "expect", "keep-alive", "range", "te", "trailer", "transfer-encoding",
        "upgrade",
    ]

    /// Throws `ListProblem.record` for what must not go into a request: line breaks, other control characters, a name
    /// that is no token, and the headers that a list may not set.
    static func checked(_ name: String, _ value: String) throws(ListProblem) -> (name: String, value: String) {
        guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
            throw .record("'\(name.prefix(100))' is not the name of a header")
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw .record("the header '\(name.prefix(100))' has a line break or another control character")
        }
        let lower = name.lowercased()
        guard !refused.contains(lower), !lower.hasPrefix("proxy-"), !lower.hasPrefix("if-") else {
            throw .record("a list may not set the header '\(name)'")
        }
        return (name, value)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7f && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
    }
}
