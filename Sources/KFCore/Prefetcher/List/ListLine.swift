/// The source in a line of a plain list, written by hand or by a script.
enum ListLine {
    /// Returns the source of a line, without white space at its ends, quotes, and a comment. Nil if the line has none.
    ///
    /// A `#` begins a comment at the start of the line and after white space. Elsewhere it belongs to the URL.
    static func source(_ line: ArraySlice<UInt8>) throws(ListProblem) -> String? {
        let line = trimmed(line)
        guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return try quoted(line, by: first) }
        guard line.contains(where: isSpace) else { return PercentCoding.text(Array(line)) }
        let source = trimmed(line[..<commentStart(line)])
        for scheme in ["http://", "https://"] where source.contains(scheme.utf8, after: isSpace) {
            throw .record("two URLs in one line; each needs a line of its own")
        }
        return PercentCoding.text(Array(source))
    }

    private static func quoted(_ line: ArraySlice<UInt8>, by quote: UInt8) throws(ListProblem) -> String? {
        let inside = line.dropFirst()
        guard let end = inside.firstIndex(of: quote) else { throw .record("the quote at its start is not closed") }
        var rest = inside[(end + 1)...]
        // A line out of an array of a program.
        if rest.first == UInt8(ascii: ",") { rest = rest.dropFirst() }
        guard trimmed(rest[..<commentStart(rest)]).isEmpty else { throw .record("text after the closing quote") }
        let source = trimmed(inside[..<end])
        return source.isEmpty ? nil : PercentCoding.text(Array(source))
    }

    /// Returns the index of the comment, or the end.
    private static func commentStart(_ line: ArraySlice<UInt8>) -> Int {
        var isAfterSpace = false
        for index in line.indices {
            if isAfterSpace, line[index] == UInt8(ascii: "#") { return index }
            isAfterSpace = isSpace(line[index])
        }
        return line.endIndex
    }

    /// Returns the bytes without spaces, tabs and carriage returns at their ends.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return bytes
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }
}

extension ArraySlice<UInt8> {
    /// Returns whether the text occurs directly after a byte that fits.
    fileprivate func contains(_ text: String.UTF8View, after fits: (UInt8) -> Bool) -> Bool {
        indices.dropFirst().contains { fits(self[$0 - 1]) && self[$0...].starts(with: text) }
    }
}
