import Support

/// A verifier of AWS Signature Version 4 as a server has one: it computes the signature anew from the received request.
struct SignatureVerifier {
    var secretKey: String
    /// Whether the path is normalized and encoded once more, as every service but S3 does.
    var normalizesPath = false
    var encodesPath = false

    struct Request {
        var method: String
        /// The path and the query as they were sent.
        var target: String
        var headers: [(name: String, value: String)]
        var body: [UInt8] = []

        func values(_ name: String) -> [String] {
            headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }
    }

    /// The parts of the Authorization header.
    struct Authorization: Equatable {
        var accessKey: String
        var scope: String
        var signedHeaders: [String]
        var signature: String

        init?(_ text: String) {
            let scheme = "AWS4-HMAC-SHA256 "
            guard text.hasPrefix(scheme) else { return nil }
            var parts: [Substring: Substring] = [:]
            for item in text.dropFirst(scheme.count).split(separator: ",") {
                let halves = item.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                guard halves.count == 2 else { return nil }
                parts[halves[0]] = halves[1]
            }
            guard let credential = parts["Credential"], let names = parts["SignedHeaders"],
                let signature = parts["Signature"], let slash = credential.firstIndex(of: "/")
            else { return nil }
            accessKey = String(credential[..<slash])
            scope = String(credential[credential.index(after: slash)...])
            signedHeaders = names.split(separator: ";").map(String.init)
            self.signature = String(signature)
        }
    }

    func canonicalRequest(_ request: Request, signing names: [String]) -> String {
        let mark = request.target.firstIndex(of: "?") ?? request.target.endIndex
        let path = String(request.target[..<mark])
        let headers = names.map { "\($0):\(request.values($0).map(Self.collapsed).joined(separator: ","))\n" }
        let hash = request.values("x-amz-content-sha256").first ?? PlainSHA256.hex(PlainSHA256.hash(request.body))
        return [
            request.method, canonical(path: path), Self.canonical(query: request.target[mark...].dropFirst()),
            headers.joined(), names.joined(separator: ";"), hash,
        ].joined(separator: "\n")
    }

    func stringToSign(_ canonicalRequest: String, date: String, scope: String) -> String {
        "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(PlainSHA256.hex(PlainSHA256.hash(Array(canonicalRequest.utf8))))"
    }

    func signature(of text: String, scope: String) -> String {
        let key = scope.split(separator: "/").reduce(Array("AWS4\(secretKey)".utf8)) {
            PlainSHA256.authenticate(Array($1.utf8), key: $0)
        }
        return PlainSHA256.hex(PlainSHA256.authenticate(Array(text.utf8), key: key))
    }

    /// Returns the reason to refuse the request; nil if its signature is right.
    func problem(with request: Request) -> String? {
        guard let field = request.values("Authorization").first, let found = Authorization(field) else {
            return "no usable Authorization"
        }
        guard let date = request.values("x-amz-date").first, found.scope.hasPrefix(date.prefix(8)) else {
            return "no date, or one of another day than the scope's"
        }
        guard found.signedHeaders.contains("host"), found.signedHeaders == found.signedHeaders.sorted() else {
            return "signed headers are not sorted, or lack the host"
        }
        let canonical = canonicalRequest(request, signing: found.signedHeaders)
        let text = stringToSign(canonical, date: date, scope: found.scope)
        let expected = signature(of: text, scope: found.scope)
        return expected == found.signature ? nil : "another signature than \(expected), of\n\(canonical)"
    }

    // MARK: Canonical forms

    private func canonical(path: String) -> String {
        var path = path
        if normalizesPath {
            var parts: [Substring] = []
            for part in path.split(separator: "/") {
                switch part {
                case ".": break
                case "..": _ = parts.popLast()
                default: parts.append(part)
                }
            }
            let isFolder = ["/", "/.", "/.."].contains { path.hasSuffix($0) }
            path = "/" + parts.joined(separator: "/") + (isFolder && !parts.isEmpty ? "/" : "")
        }
        return encodesPath ? Self.encoded(Array(path.utf8), keeping: "/") : path
    }

    private static func canonical(query: Substring) -> String {
        let pairs = query.split(separator: "&").map { item -> (name: String, value: String) in
            let halves = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (encoded(decoded(halves[0])), halves.count > 1 ? encoded(decoded(halves[1])) : "")
        }
        return pairs.sorted { $0 < $1 }.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    /// Returns the value without blanks at its ends, and with one in place of several.
    private static func collapsed(_ value: String) -> String {
        value.split { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r\n" }.joined(separator: " ")
    }

    private static func decoded(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = UInt8(String(Substring(rest.prefix(2))), radix: 16) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func encoded(_ bytes: [UInt8], keeping kept: String = "") -> String {
        bytes.map { byte in
            let isPlain = byte &- 0x30 < 10 || byte | 0x20 &- 0x61 < 26 || "-._~".utf8.contains(byte)
            return isPlain || kept.utf8.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
