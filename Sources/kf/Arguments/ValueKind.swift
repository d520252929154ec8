/// What an option's value is: the word that stands for it in help says so.
///
/// `"TIME"` is a time, `"a|b|c"` one of those; a word that has no meaning here is any text.
struct ValueKind: Sendable, ExpressibleByStringLiteral {
    enum Completion: Equatable {
        case nothing
        case files
        case directories
        case processors
        case words([String])
    }

    let placeholder: String

    init(stringLiteral text: String) { placeholder = text }

    /// What a shell offers for it.
    var completion: Completion {
        if placeholder.contains("|") { return .words(choices) }
        switch placeholder {
        case "FILE", "LIST", "SOURCE": return .files
        case "DIR": return .directories
        case "SPEC", "CHAIN": return .processors
        default: return .nothing
        }
    }

    /// The words that are allowed; none when the value is free.
    var choices: [String] {
        let words = placeholder.split(separator: "|").map(String.init)
        return words.count > 1 && words.allSatisfy { $0 == $0.lowercased() } ? words : []
    }
}
