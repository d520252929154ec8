import Foundation
import Support
import Testing

/// A picture as another program decoded it.
struct Raster {
    let width: Int
    let height: Int
    let channels: Int
    let pixels: [UInt8]

    /// What `djpeg` makes of a JPEG; throws with its words when it refuses or warns.
    init(jpeg: Data) async throws {
        let result = try await Tool.run("djpeg", "-pnm", input: jpeg)
        guard result.status == 0, result.errors.isEmpty else {
            throw RunningCommand.Failure(description: "djpeg: \(result.errors)")
        }
        let fields = result.standardOutput.prefix(32).split(
            maxSplits: 4, whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") })
        let words = fields.prefix(4).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, let width = Int(words[1]), let height = Int(words[2]) else {
            throw RunningCommand.Failure(description: "djpeg wrote no PNM")
        }
        self.width = width
        self.height = height
        channels = words[0] == "P6" ? 3 : 1
        pixels = [UInt8](result.standardOutput.suffix(width * height * channels))
    }

    /// The mean of the absolute differences of two pictures of the same shape, in levels of 0…255.
    func difference(_ other: Raster) throws -> Double {
        try #require((width, height, channels) == (other.width, other.height, other.channels))
        let sum = zip(pixels, other.pixels).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        return Double(sum) / Double(max(1, pixels.count))
    }

    /// How much each pixel differs from its right neighbour, on average: what a blur takes away.
    var roughness: Double {
        var sum = 0
        for row in 0..<height {
            for column in 0..<((width - 1) * channels) {
                let at = row * width * channels + column
                sum += abs(Int(pixels[at]) - Int(pixels[at + channels]))
            }
        }
        return Double(sum) / Double(max(1, height * (width - 1) * channels))
    }
}

/// What a PNG's own header says.
struct PNGHeader: Equatable {
    let width: Int
    let height: Int
    let depth: Int
    /// 0 grey, 2 RGB, 3 palette, 4 grey with alpha, 6 RGBA.
    let colourType: Int

    init(_ data: Data) throws {
        let bytes = [UInt8](data.prefix(33))
        try #require(
            bytes.count == 33 && bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), "no PNG")
        func number(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
        width = number(16)
        height = number(20)
        depth = Int(bytes[24])
        colourType = Int(bytes[25])
    }

    var hasAlpha: Bool { colourType == 4 || colourType == 6 }
}

enum Judge {
    static func sha256(_ data: Data) async throws -> String {
        String(try await Tool.run("sha256sum", input: data).output.prefix(64))
    }

    /// What SQLite's own program says of the index; `ok` when it is sound.
    static func integrity(of cache: URL) async throws -> String {
        let index = cache.appendingPathComponent("v1/index.sqlite").path
        let result = try await Tool.run("sqlite3", index, "PRAGMA integrity_check; PRAGMA foreign_key_check;")
        return (result.output + result.errors).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The size that `resize:WxH,fit` promises.
    static func fit(_ width: Int, _ height: Int, into box: (Int, Int)) -> (width: Int, height: Int) {
        let aspect = Double(width) / Double(height)
        let wide = max(1, Int(clamping: (aspect * Double(box.1)).rounded()))
        let high = max(1, Int(clamping: (Double(box.0) / aspect).rounded()))
        return wide > box.0 ? (box.0, high) : (wide, box.1)
    }
}

/// What is true of every refusal: one line that names the program, and nothing left behind.
func expectRefusal(
    _ result: CommandResult, _ kf: KFCommand, status: Int32 = 1, says words: String..., cached: Int = 0,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(result.status == status, "\(result)", sourceLocation: sourceLocation)
    #expect(result.errorLines.count == 1, "\(result)", sourceLocation: sourceLocation)
    #expect(result.errors.hasPrefix("kf: "), "\(result)", sourceLocation: sourceLocation)
    for word in words {
        #expect(
            result.errors.localizedCaseInsensitiveContains(word), "not said: \(word)\n\(result)",
            sourceLocation: sourceLocation)
    }
    #expect(result.standardOutput.isEmpty, "\(result)", sourceLocation: sourceLocation)
    #expect(kf.cachedObjects().count == cached, "\(kf.cachedObjects())", sourceLocation: sourceLocation)
    #expect(kf.leftovers() == [], sourceLocation: sourceLocation)
}
