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
        let words = words
        if !words.isEmpty { return .words(words) }
        switch placeholder {
        case "FILE", "LIST", "SOURCE": return .files
        case "DIR": return .directories
        case "SPEC", "CHAIN": return .processors
        default: return .nothing
        }
    }

    /// The words that are allowed; none when anything else may stand there too.
    var choices: [String] {
        let words = words
        return words.count == placeholder.split(separator: "|").count ? words : []
    }

    /// The choice that a text names: in any case, and `jpg` too.
    func choice(_ text: String) -> String? {
        let lower = text.lowercased()
        return choices.first { $0 == lower || $0 == "jpeg" && lower == "jpg" }
    }

    /// Lower case is meant as it stands.
    private var words: [String] {
        guard placeholder.contains("|") else { return [] }
        return placeholder.split(separator: "|").map(String.init).filter { $0 == $0.lowercased() }
    }
}
