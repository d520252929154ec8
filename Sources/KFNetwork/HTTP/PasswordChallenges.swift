import KFSystem

/// The challenges in the WWW-Authenticate fields of a 401.
struct PasswordChallenges {
    /// The schemes in lower case, with their parameters by their names in lower case.
    private var offers: [(scheme: String, parameters: [String: String])] = []

    /// Parses the fields. One field may contain several challenges, separated by commas like their parameters (RFC
    /// 9110, 11.6.1).
    init(_ fields: [String]) {
        for field in fields {
            for item in FieldText.split(field[...], at: ",").map(\.trimmingBlanks) {
                if let (name, value) = Self.parameter(item), !offers.isEmpty {
                    offers[offers.count - 1].parameters[name] = value
                    continue
                }
                let words = item.split(separator: " ", maxSplits: 1)
                // A bare "name=value" is a parameter of the challenge before it.
                guard let scheme = words.first, !scheme.utf8.contains(UInt8(ascii: "=")) else { continue }
                offers.append((scheme.lowercased(), [:]))
                if words.count > 1, let (name, value) = Self.parameter(words[1].trimmingBlanks) {
                    offers[offers.count - 1].parameters[name] = value
                }
            }
        }
    }

    /// The strongest supported challenge.
    var best: (scheme: DownloadChallenge.Scheme, realm: String)? {
        if let digest { return (.digest, digest.realm) }
        return offers.first { $0.scheme == "basic" }.map { (.basic, $0.parameters["realm"] ?? "") }
    }

    /// Whether a challenge is for Digest, even if it cannot be answered.
    var wantsDigest: Bool { offers.contains { $0.scheme == "digest" } }

    /// The first challenge for Digest that can be answered: a server names the best one first.
    var digest: DigestChallenge? {
        offers.lazy.compactMap { $0.scheme == "digest" ? DigestChallenge($0.parameters) : nil }.first
    }

    /// Returns the nonce that Authentication-Info names for the next request (RFC 7616, 3.5).
    static func nextNonce(_ fields: [String]) -> String? {
        fields.lazy.flatMap { FieldText.split($0[...], at: ",") }.compactMap { parameter($0.trimmingBlanks) }
            .first { $0.name == "nextnonce" }?.value
    }

    /// Reads `name=value` with a name that is a token; nil for any other text.
    private static func parameter(_ item: Substring) -> (name: String, value: String)? {
        let halves = item.split(separator: "=", maxSplits: 1)
        guard halves.count == 2 else { return nil }
        let name = halves[0].trimmingBlanks
        var value = halves[1].trimmingBlanks
        guard FieldText.isName(name) else { return nil }
        guard value.first == "\"" else { return (name.lowercased(), String(value)) }
        value = value.dropFirst()
        var (text, isEscaped) = ("", false)
        for character in value {
            if !isEscaped, character == "\"" { break }
            isEscaped = !isEscaped && character == "\\"
            if !isEscaped { text.append(character) }
        }
        return (name.lowercased(), text)
    }
}
