import KFCore

/// How entries are called in what people read.
enum EntryText {
    /// `key@identifier`; without `whole`, a URL's query is only marked, since queries carry signatures.
    static func name(_ entry: EntryName, whole: Bool) -> String {
        let key = whole ? entry.key : RequestURL.redacted(entry.key)
        return Terminal.visible(entry.identifier.isEmpty ? key : "\(key)@\(entry.identifier)")
    }

    static func partials(_ number: Int) -> String { count(number, "partial download") }

    static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }
}
