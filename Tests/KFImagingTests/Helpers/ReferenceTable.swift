import Foundation

/// A table made by a script in Reference: lines of fields separated by tabs.
enum ReferenceTable {
    static func lines(_ name: String) throws -> [[Substring]] {
        let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../Reference").standardized
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        return text.split(separator: "\n").map { $0.split(separator: "\t") }
    }

    /// Pixels separated by semicolons, and their samples by commas.
    static func pixels(_ field: Substring) -> [[Double]] {
        field.split(separator: ";").map { pixel in pixel.split(separator: ",").compactMap { Double($0) } }
    }
}
