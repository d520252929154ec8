import KFCore

/// The part of an option's value that is never shown.
enum SecretValue: Sendable {
    /// All of it.
    case whole
    /// What follows the name of a header.
    case header
    /// The user info of a URL.
    case userInfo

    private static let mark = "•••"

    /// The value with a mark in place of the secret.
    func hidden(in value: String) -> String {
        switch self {
        case .whole: return Self.mark
        case .header:
            let name = value.prefix { $0 != ":" }
            return name.count < value.count && HeaderText.isName(name) ? "\(name): \(Self.mark)" : Self.mark
        case .userInfo:
            let start = value.firstRange(of: "://")?.upperBound ?? value.startIndex
            // The authority ends at a slash, unless the text is no URL and a password holds one.
            let isURL = RequestURL.isValid(value)
            let authority = isURL ? value[start...].prefix { !"/?#".contains($0) } : value[start...]
            guard let at = authority.lastIndex(of: "@") else { return value }
            return value[..<start] + Self.mark + value[at...]
        }
    }
}
