import CCrypto
import Synchronization

/// A server that wants a password by Digest (RFC 7616), and checks every part of the answers: the user "ann" with the
/// password "secret".
///
/// A count may be used once with each nonce. After `usesPerNonce` requests a nonce is stale.
package final class DigestServer: Sendable {
    package enum Scheme: String, Sendable { case none, basic, wrong, stale, digest }

    private struct State {
        var made = 0
        /// The counts that each valid nonce was used with.
        var nonces: [String: Set<String>] = [:]
        var seen: [Scheme] = []
    }

    private let server: FaultServer

    package init(
        algorithm: String? = nil, quality: String? = "auth", usesPerNonce: Int = .max,
        _ answer: @escaping @Sendable (FaultRequest) -> [FaultStep]
    ) throws {
        let state = state
        server = try FaultServer { request in
            let fields = Self.fields(request.header("Authorization") ?? "")
            let (scheme, nonce) = state.withLock { state -> (Scheme, String) in
                let scheme = Self.judge(fields, request, algorithm, quality, usesPerNonce, &state)
                state.seen.append(scheme)
                state.made += 1
                let nonce = "n\(state.made), \"\\"
                if scheme != .digest { state.nonces[nonce] = [] }
                return (scheme, nonce)
            }
            if scheme == .digest { return answer(request) }
            let quoted = nonce.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            var challenge = "Digest realm=\"pictures, \\\"ours\\\"\", nonce=\"\(quoted)\", opaque=\"o\""
            if let quality { challenge += ", qop=\"\(quality)\"" }
            if let algorithm { challenge += ", algorithm=\(algorithm)" }
            if scheme == .stale { challenge += ", stale=TRUE" }
            return [.reply("401 Unauthorized", headers: ["WWW-Authenticate: \(challenge)", "Connection: keep-alive"])]
        }
    }

    private let state = SharedState()

    /// What each request had, in order.
    package var seen: [Scheme] { state.withLock(\.seen) }

    package var requests: [FaultRequest] { server.requests }

    package func url(_ path: String) -> String { server.url(path) }

    private static func judge(
        _ fields: [String: String], _ request: FaultRequest, _ algorithm: String?, _ quality: String?,
        _ usesPerNonce: Int, _ state: inout State
    ) -> Scheme {
        guard let scheme = fields[""] else { return .none }
        guard scheme == "digest" else { return .basic }
        guard let nonce = fields["nonce"], let used = state.nonces[nonce] else { return .stale }
        let hash = { (text: String) in Self.hash(text, isLong: algorithm?.hasPrefix("SHA-256") == true) }
        let clientNonce = fields["cnonce"] ?? ""
        var secret = hash("ann:pictures, \"ours\":secret")
        if algorithm?.hasSuffix("-sess") == true { secret = hash("\(secret):\(nonce):\(clientNonce)") }
        let count = fields["nc"] ?? ""
        let middle = quality == nil ? nonce : "\(nonce):\(count):\(clientNonce):auth"
        guard fields["response"] == hash("\(secret):\(middle):\(hash("\(request.method):\(request.path)"))"),
            fields["username"] == "ann", fields["realm"] == "pictures, \"ours\"", fields["uri"] == request.path,
            fields["opaque"] == "o", fields["algorithm"] == algorithm,
            quality == nil || fields["qop"] == "auth" && count.utf8.count == 8 && !used.contains(count)
        else { return .wrong }
        if used.count >= usesPerNonce { return .stale }
        state.nonces[nonce]?.insert(quality == nil ? "\(used.count)" : count)
        return .digest
    }

    /// The parameters by name, with the scheme under "".
    private static func fields(_ header: String) -> [String: String] {
        guard let blank = header.firstIndex(of: " ") else { return [:] }
        var fields = ["": header[..<blank].lowercased()]
        guard fields[""] == "digest" else { return fields }
        var rest = header[blank...]
        while let mark = rest.firstIndex(of: "=") {
            let name = rest[..<mark].filter { $0 != " " && $0 != "," }
            rest = rest[mark...].dropFirst()
            var value = ""
            if rest.first == "\"" {
                rest = rest.dropFirst()
                while let character = rest.popFirst(), character != "\"" {
                    if let next = character == "\\" ? rest.popFirst() : character { value.append(next) }
                }
            } else {
                value = String(rest.prefix { $0 != "," })
            }
            rest = rest.firstIndex(of: ",").map { rest[$0...].dropFirst() } ?? ""
            fields[name] = value
        }
        return fields
    }

    private static func hash(_ text: String, isLong: Bool) -> String {
        var text = text
        return text.withUTF8 { bytes in
            var digest = [UInt8](repeating: 0, count: isLong ? 32 : 16)
            if isLong {
                var context = SHA256_CTX()
                SHA256_Init(&context)
                SHA256_Update(&context, bytes.baseAddress, bytes.count)
                SHA256_Final(&digest, &context)
            } else {
                var context = MD5_CTX()
                MD5_Init(&context)
                MD5_Update(&context, bytes.baseAddress, bytes.count)
                MD5_Final(&digest, &context)
            }
            return digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }

    private final class SharedState: Sendable {
        private let state = Mutex(State())

        func withLock<Value: Sendable>(_ body: (inout sending State) -> Value) -> Value {
            state.withLock { body(&$0) }
        }
    }
}
