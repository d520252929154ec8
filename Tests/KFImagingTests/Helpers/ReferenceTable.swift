import Foundation
import KFImaging
import Testing

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

    /// Makes the pictures of the first four lines, processes them as the other lines say, and compares the pixels. The
    /// colour of a pixel whose alpha is below `leastAlpha` has no meaning. `size` reads the size of a picture from its line.
    static func expect(
        _ name: String, lines count: Int, within tolerance: Double, leastAlpha: Double,
        size: ([Substring]) -> (width: Int, height: Int),
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let lines = try lines(name)
        #expect(lines.count >= count, sourceLocation: location)
        let inputs = lines.prefix(4).map { pixels($0[$0.count - 1]) }
        for line in lines.dropFirst(4) {
            let before = inputs[(Int(line[1]) ?? 0) - 1]
            let (width, height) = size(line)
            let formats: [PixelFormat] = [.gray, .grayAlpha, .rgb, .rgba]
            let bitmap = try Pictures.make(width, height, formats[before[0].count - 1]) { x, y, channel in
                Int(before[y * width + x][channel])
            }
            let result = try ProcessorParser.parse(String(line[0])).process(.image(Image(bitmap)), options: .init())
                .bitmap.rgba8
            var worst = 0.0
            for (index, expected) in pixels(line[line.count - 1]).enumerated() {
                for channel in expected[3] < leastAlpha ? 3..<4 : 0..<4 {
                    worst = max(worst, abs(Double(result[4 * index + channel]) - expected[channel]))
                }
            }
            #expect(worst <= tolerance, "\(line[0]) of \(line[1]) channels", sourceLocation: location)
        }
    }
}
