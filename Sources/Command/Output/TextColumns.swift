/// Text for a screen of 80 columns, the same on any terminal and in a file.
enum TextColumns {
    static let width = 79

    /// Lays out two columns. A left text that is too long gets a line of its own.
    static func rows(_ rows: [(left: String, right: String)], leftWidth: Int) -> [String] {
        rows.flatMap { row in
            let margin = String(repeating: " ", count: leftWidth + 2)
            let right = wrapped(row.right, to: width - margin.count)
            let start = "  " + row.left
            if row.left.count > leftWidth - 2 { return [start] + right.map { margin + $0 } }
            return [pad(start, to: margin.count) + (right.first ?? "")] + right.dropFirst().map { margin + $0 }
        }
    }

    /// Wraps the text to lines of at most `columns`. A longer word gets a line of its own.
    static func wrapped(_ text: String, to columns: Int = width) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        return line.isEmpty ? lines : lines + [line]
    }

    static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
