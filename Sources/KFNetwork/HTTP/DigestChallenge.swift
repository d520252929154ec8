import CCrypto
import KFSystem

/// A Digest challenge that the engine can answer (RFC 7616): with MD5 or SHA-256, and the quality of protection `auth`, or
/// none, as in RFC 2069.
struct DigestChallenge: Equatable {
    private enum Algorithm: String, CaseIterable {
        case md5 = "md5"
        case sha256 = "sha-256"

        func hash(_ parts: [String]) -> String {
            RawText.bytes(parts.joined(separator: ":")).withUnsafeBufferPointer { bytes in
                switch self {
                case .md5:
                    Self.hex(Int(MD5_DIGEST_LENGTH)) { digest in
                        var context = MD5_CTX()
                        MD5_Init(&context)
                        MD5_Update(&context, bytes.baseAddress, bytes.count)
                        MD5_Final(digest, &context)
                    }
                case .sha256:
                    Self.hex(Int(SHA256_DIGEST_LENGTH)) { digest in
                        var context = SHA256_CTX()
                        SHA256_Init(&context)
                        SHA256_Update(&context, bytes.baseAddress, bytes.count)
                        SHA256_Final(digest, &context)
                    }
                }
            }
        }

        private static func hex(_ count: Int, _ fill: (UnsafeMutablePointer<UInt8>?) -> Void) -> String {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { buffer in
                fill(buffer.baseAddress)
                return buffer.map { $0.digits(2, radix: 16) }.joined()
            }
        }
    }

    let realm: String
    var nonce: String
    /// Whether the answer before was right, but for its nonce.
    let isStale: Bool
    private let opaque: String?
    private let algorithm: Algorithm
    /// The algorithm as the server has named it; nil if it has not.
    private let algorithmName: String?
    private let isSession: Bool
    private let hasQuality: Bool
    private let hashesUser: Bool

    /// Reads the parameters of a challenge, by their names in lower case. Nil for one that the engine cannot answer.
    init?(_ parameters: [String: String]) {
        guard let realm = parameters["realm"], let nonce = parameters["nonce"] else { return nil }
        (self.realm, self.nonce, opaque) = (realm, nonce, parameters["opaque"])
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
        algorithmName = parameters["algorithm"]
        let name = algorithmName?.lowercased() ?? "md5"
        isSession = name.hasSuffix("-sess")
        guard let algorithm = Algorithm(rawValue: isSession ? String(name.dropLast(5)) : name) else { return nil }
        self.algorithm = algorithm
        let qualities = parameters["qop"]?.lowercased().split(separator: ",").map(\.trimmingBlanks)
        if let qualities, !qualities.isEmpty, !qualities.contains("auth") { return nil }
        hasQuality = qualities?.isEmpty == false
    }

    /// Returns the value of Authorization for a request. `count` is the number of requests with this nonce.
    func answer(
        _ credentials: Credentials, method: String, target: String, count: UInt32, clientNonce: String
    ) -> String {
        let (user, hash) = (credentials.user, algorithm.hash)
        let count = count.digits(8, radix: 16)
        var secret = hash([user, realm, credentials.password])
        if isSession { secret = hash([secret, nonce, clientNonce]) }
        let rest = hasQuality ? [nonce, count, clientNonce, "auth"] : [nonce]
        var fields = [
            "username=\(Self.quoted(hashesUser ? hash([user, realm]) : user))", "realm=\(Self.quoted(realm))",
            "nonce=\(Self.quoted(nonce))", "uri=\(Self.quoted(target))",
            "response=\"\(hash([secret] + rest + [hash([method, target])]))\"",
        ]
        if hasQuality { fields += ["qop=auth", "nc=\(count)"] }
        if hasQuality || isSession { fields.append("cnonce=\"\(clientNonce)\"") }
        if let opaque { fields.append("opaque=\(Self.quoted(opaque))") }
        if let algorithmName { fields.append("algorithm=\(algorithmName)") }
        if hashesUser { fields.append("userhash=true") }
        return "Digest \(fields.joined(separator: ", "))"
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { quoted.append("\\") }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}

/// What the origins of an engine want of a password: each has shown it with a 401. Confined to the I/O thread.
struct PasswordMemory {
    enum Proof {
        case basic
        /// A challenge for Digest that the engine cannot answer. A password goes there in clear only by
        /// `AuthenticationMethod.basic`.
        case unknownDigest
        /// The challenge, the number of requests with its nonce, and the client's own nonce.
        case digest(DigestChallenge, count: UInt32, clientNonce: String)
    }

    /// The number of origins that are remembered; then all are forgotten, and ask again.
    private static let mostOrigins = 4096

    private var proofs: [Origin: Proof] = [:]

    /// What an origin wants; nil while that is not known.
    subscript(origin: Origin) -> Proof? { proofs.isEmpty ? nil : proofs[origin] }

    /// Notes a challenge for Basic. An origin that has asked for Digest gets no password in clear any more.
    mutating func noteBasic(_ origin: Origin) {
        if self[origin] == nil { set(.basic, origin) }
    }

    /// Notes a challenge for Digest that the engine cannot answer.
    mutating func bar(_ origin: Origin) {
        if case .digest? = self[origin] { return }
        set(.unknownDigest, origin)
    }

    mutating func note(_ challenge: DigestChallenge, _ origin: Origin) {
        let clientNonce = UInt128.random(in: .min ... .max).digits(32, radix: 16)
        set(.digest(challenge, count: 0, clientNonce: clientNonce), origin)
    }

    /// Takes the nonce that an answer names for the next request.
    mutating func note(nextNonce nonce: String, _ origin: Origin) {
        guard case .digest(var challenge, _, _)? = self[origin], challenge.nonce != nonce else { return }
        challenge.nonce = nonce
        note(challenge, origin)
    }

    private mutating func set(_ proof: Proof, _ origin: Origin) {
        if proofs.count >= Self.mostOrigins, proofs[origin] == nil { proofs = [:] }
        proofs[origin] = proof
    }

    /// Returns the value of Authorization for the next request to an origin that wants Digest, with the nonce in it.
    mutating func answer(
        _ credentials: Credentials, to origin: Origin, method: String, target: String
    ) -> (value: String, nonce: String)? {
        guard case .digest(let challenge, let count, let clientNonce)? = self[origin] else { return nil }
        proofs[origin] = .digest(challenge, count: count &+ 1, clientNonce: clientNonce)
        let value = challenge.answer(
            credentials, method: method, target: target, count: count &+ 1, clientNonce: clientNonce)
        return (value, challenge.nonce)
    }
}
