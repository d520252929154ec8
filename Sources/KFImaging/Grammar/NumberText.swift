/// The text form of numbers in processors.
enum NumberText {
    /// Returns the shortest text that parses to the same number; whole numbers have no decimal point.
    static func format(_ number: Double) -> String {
        if number == number.rounded(), abs(number) < 1e15 { return String(Int64(clamping: number)) }
        return number.description
    }

    /// Parses a finite decimal number; nil for any other text, such as `nan`, `inf` and hexadecimal.
    static func parse(_ text: some StringProtocol) -> Double? {
        let allowed = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte)
        }
        guard allowed, let number = Double(String(text)), number.isFinite else { return nil }
        return number
    }
}

/// Two numbers with an x between them, such as `320x240`.
enum PairText {
    /// Returns the texts on both sides of the `x`; nil unless the text has exactly one.
    static func split(_ text: String) -> (Substring, Substring)? {
        let parts = text.split(omittingEmptySubsequences: false) { $0 == "x" || $0 == "X" || $0 == "×" }
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
}

extension Substring {
    /// The text without spaces and tabs at both ends.
    var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
