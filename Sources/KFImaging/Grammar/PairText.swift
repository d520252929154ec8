/// Two numbers with an x between them.
enum PairText {
    /// The texts on both sides of the one `x`; nil unless there is just one.
    static func split(_ text: String) -> (Substring, Substring)? {
        let parts = text.split(omittingEmptySubsequences: false) { $0 == "x" || $0 == "X" || $0 == "×" }
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
}

extension Substring {
    /// Without blanks at both ends.
    var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
