import Foundation

/// A table that a script in Reference has written: lines of fields with tabs between them.
enum ReferenceTable {
    static func lines(_ name: String) throws -> [[Substring]] {
        let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../Reference").standardized
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        return text.split(separator: "\n").map { $0.split(separator: "\t") }
    }

    /// Pixels with semicolons between them and commas between their samples.
    static func pixels(_ field: Substring) -> [[Double]] {
        field.split(separator: ";").map { pixel in pixel.split(separator: ",").compactMap { Double($0) } }
    }
}
