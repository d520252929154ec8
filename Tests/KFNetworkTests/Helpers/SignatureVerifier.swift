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
        let hash = request.values("x-amz-content-sha256").first ?? SHA256.hex(SHA256.hash(request.body))
        return [
            request.method, canonical(path: path), Self.canonical(query: request.target[mark...].dropFirst()),
            headers.joined(), names.joined(separator: ";"), hash,
        ].joined(separator: "\n")
    }

    func stringToSign(_ canonicalRequest: String, date: String, scope: String) -> String {
        "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(SHA256.hex(SHA256.hash(Array(canonicalRequest.utf8))))"
    }

    func signature(of text: String, scope: String) -> String {
        let key = scope.split(separator: "/").reduce(Array("AWS4\(secretKey)".utf8)) {
            SHA256.authenticate(Array($1.utf8), key: $0)
        }
        return SHA256.hex(SHA256.authenticate(Array(text.utf8), key: key))
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

/// SHA-256 and its HMAC, written for these tests so that the verifier shares no code with libcurl. The vectors prove it.
enum SHA256 {
    private static let constants: [UInt32] = primes(64).map { fraction(of: $0, root: 3) }
    private static let start: [UInt32] = primes(8).map { fraction(of: $0, root: 2) }

    static func hash(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
        bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (message.count * 8) >> ($0 * 8)) }
        var state = start
        for block in stride(from: 0, to: bytes.count, by: 64) {
            var words = (0..<16).map { word in
                (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[block + word * 4 + $1]) }
            }
            for at in 16..<64 {
                let (old, late) = (words[at - 15], words[at - 2])
                let first = turned(old, 7) ^ turned(old, 18) ^ old >> 3
                let second = turned(late, 17) ^ turned(late, 19) ^ late >> 10
                words.append(words[at - 16] &+ first &+ words[at - 7] &+ second)
            }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            var (e, f, g, h) = (state[4], state[5], state[6], state[7])
            for at in 0..<64 {
                let choice = (e & f) ^ (~e & g)
                let one = h &+ (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) &+ choice &+ constants[at] &+ words[at]
                let majority = (a & b) ^ (a & c) ^ (b & c)
                let two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) &+ majority
                (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ two)
            }
            state = zip(state, [a, b, c, d, e, f, g, h]).map { $0 &+ $1 }
        }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? hash(key) : key
        let padded = short + [UInt8](repeating: 0, count: 64 - short.count)
        return hash(padded.map { $0 ^ 0x5c } + hash(padded.map { $0 ^ 0x36 } + message))
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static func primes(_ count: Int) -> [UInt64] {
        var found: [UInt64] = []
        var next: UInt64 = 2
        while found.count < count {
            if found.allSatisfy({ next % $0 != 0 }) { found.append(next) }
            next += 1
        }
        return found
    }

    /// Returns the first 32 bits of the fraction of a square root or cube root.
    private static func fraction(of number: UInt64, root: Int) -> UInt32 {
        // The root in units of 2^-32: its power is the number in units of 2^-64 or 2^-96.
        let target = UInt128(number) << UInt128(32 * root)
        var result: UInt128 = 0
        for bit in (0..<40).reversed() {
            let candidate = result | 1 << UInt128(bit)
            let power = root == 2 ? candidate * candidate : candidate * candidate * candidate
            if power <= target { result = candidate }
        }
        return UInt32(truncatingIfNeeded: result)
    }
}
