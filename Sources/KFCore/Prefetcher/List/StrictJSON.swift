/// JSON as RFC 8259 has it, and nothing else: for one line of a list, not for documents.
///
/// SQLite's own functions, which are linked anyway, take half a surrogate pair, cut text at `\u0000`, and keep the first
/// of two members of one name without a word; each of these would fetch something else than the list says.
enum StrictJSON: Equatable {
    case null
    case bool(Bool)
    /// As it was written.
    case number(String)
    case string(String)
    case array([StrictJSON])
    case object([Member])

    struct Member: Equatable {
        let name: String
        let value: StrictJSON
    }

    /// How deep values may be nested.
    static let deepest = 16
}
