import KFSystem

/// The source in a line of a plain list, written by hand or by a script.
enum ListLine {
    /// Returns the source of a line, without white space at its ends, quotes, and a comment. Nil if the line has none. It may
    /// be a path, whose bytes are kept.
    ///
    /// A `#` begins a comment at the start of the line and after white space. Elsewhere it belongs to the URL.
    static func source(_ line: ArraySlice<UInt8>) throws(ListProblem) -> String? {
        let line = line.trimmed
        guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return try quoted(line, by: first) }
        guard line.contains(where: \.isBlank) else { return RawText.decode(line) }
        let source = line[..<commentStart(line)].trimmed
        for scheme in ["http://", "https://"] where source.containsAfterSpace(scheme) {
            throw .record("two URLs in one line; each needs a line of its own")
        }
        return RawText.decode(source)
    }

    private static func quoted(_ line: ArraySlice<UInt8>, by quote: UInt8) throws(ListProblem) -> String? {
        let inside = line.dropFirst()
        guard let end = inside.firstIndex(of: quote) else { throw .record("the quote at its start is not closed") }
        var rest = inside[(end + 1)...]
        // A line out of an array of a program.
        if rest.first == UInt8(ascii: ",") { rest = rest.dropFirst() }
        guard rest[..<commentStart(rest)].trimmed.isEmpty else { throw .record("text after the closing quote") }
        let source = inside[..<end].trimmed
        return source.isEmpty ? nil : RawText.decode(source)
    }

    /// Returns the index of the comment, or the end.
    private static func commentStart(_ line: ArraySlice<UInt8>) -> Int {
        var isAfterSpace = false
        for index in line.indices {
            if isAfterSpace, line[index] == UInt8(ascii: "#") { return index }
            isAfterSpace = line[index].isBlank
        }
        return line.endIndex
    }
}

extension ArraySlice<UInt8> {
    /// Returns whether the text occurs directly after white space.
    fileprivate func containsAfterSpace(_ text: String) -> Bool {
        indices.dropFirst().contains { self[$0 - 1].isBlank && self[$0...].starts(with: text.utf8) }
    }
}
