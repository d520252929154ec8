import KFSystem

/// The challenges in the WWW-Authenticate fields of a 401.
struct PasswordChallenges {
    /// The schemes in lower case, with their realms.
    private var offers: [(scheme: String, realm: String)] = []

    /// Parses the fields. One field may contain several challenges, separated by commas like their parameters (RFC
    /// 9110, 11.6.1).
    init(_ fields: [String]) {
        for field in fields {
            for item in FieldText.split(field[...], at: ",").map(\.trimmingBlanks) {
                if let realm = Self.value(of: "realm", in: item), !offers.isEmpty {
                    offers[offers.count - 1].realm = realm
                    continue
                }
                let words = item.split(separator: " ", maxSplits: 1)
                // A bare "name=value" is a parameter of the challenge before it.
                guard let scheme = words.first, !scheme.utf8.contains(UInt8(ascii: "=")) else { continue }
                let rest = words.count > 1 ? words[1].trimmingBlanks : ""
                offers.append((scheme.lowercased(), Self.value(of: "realm", in: rest) ?? ""))
            }
        }
    }

    /// The strongest supported challenge.
    var best: (scheme: DownloadChallenge.Scheme, realm: String)? {
        if let digest = offers.first(where: { $0.scheme == "digest" }) { return (.digest, digest.realm) }
        if let basic = offers.first(where: { $0.scheme == "basic" }) { return (.basic, basic.realm) }
        return nil
    }

    private static func value(of name: String, in item: Substring) -> String? {
        let halves = item.split(separator: "=", maxSplits: 1)
        guard halves.count == 2, halves[0].trimmingBlanks.lowercased() == name else { return nil }
        var value = halves[1].trimmingBlanks
        guard value.first == "\"" else { return String(value) }
        value = value.dropFirst()
        var (text, isEscaped) = ("", false)
        for character in value {
            if !isEscaped, character == "\"" { break }
            isEscaped = !isEscaped && character == "\\"
            if !isEscaped { text.append(character) }
        }
        return text
    }
}
