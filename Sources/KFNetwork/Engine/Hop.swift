/// One request on the way of a transfer: the first, or one that a redirect led to.
struct Hop {
    var url: TransferURL
    /// Whether what was given for the first origin may be sent here.
    var keepsCredentials = true
    /// Redirects followed before it.
    var redirects = 0

    private static let secretHeaders: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    /// Credentials do not come back when a later redirect leads to the first origin again: the path there is then
    /// another server's choice.
    func following(to target: TransferURL) -> Hop {
        Hop(
            url: target, keepsCredentials: keepsCredentials && target.origin == url.origin, redirects: redirects + 1)
    }

    /// The header lines to send, as libcurl wants them.
    func headerLines(for request: TransferRequest) throws(TransferError) -> [String] {
        var lines: [String] = []
        for (name, value) in request.headers {
            guard Self.isToken(name), Self.isClean(value) else { throw .invalidRequestHeader(name: name) }
            if !keepsCredentials, Self.secretHeaders.contains(name.lowercased()) { continue }
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        if let resumption = request.resumption {
            guard Self.isClean(resumption.validator) else { throw .invalidRequestHeader(name: "If-Range") }
            lines.append("Range: bytes=\(resumption.offset)-")
            lines.append("If-Range: \(resumption.validator)")
        }
        return lines
    }

    /// A line break in a value would be a header, or a request, of its own.
    static func isClean(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte &- 0x30 < 10 || byte | 0x20 &- 0x61 < 26 || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }
}
