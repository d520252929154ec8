import Foundation
import Support

@testable import KFImaging

/// The `avifdec` of libavif, which judges what the encoder wrote.
enum AVIFTool {
    static let isInstalled = Tool.isInstalled("avifdec")

    /// Decodes one frame, through a PNG of 8 bits a sample, or 16 for a deeper picture.
    static func decode(_ avif: [UInt8], frame: Int = 0) async throws -> Bitmap {
        let home = try TemporaryDirectory()
        try home.write("a.avif", Data(avif))
        try await run("--index", "\(frame)", "a.avif", "a.png", in: home)
        return try ImageDecoder.decode(Array(Data(contentsOf: home.path("a.png")))).bitmap
    }

    /// The properties that `avifdec --info` prints, such as `Bit Depth`, and its other lines.
    static func info(_ avif: [UInt8]) async throws -> (properties: [String: String], lines: [String]) {
        let home = try TemporaryDirectory()
        try home.write("a.avif", Data(avif))
        let lines = try await run("--info", "a.avif", in: home).split(separator: "\n").map(String.init)
        var properties: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: [" ", "*"]) }
            if parts.count == 2 { properties[parts[0]] = parts[1] }
        }
        return (properties, lines)
    }

    @discardableResult
    private static func run(_ arguments: String..., in home: TemporaryDirectory) async throws -> String {
        let result = try await RunningCommand(
            "avifdec", arguments, environment: Tool.environment, directory: home.url
        ).wait()
        guard result.status == 0 else { throw RunningCommand.Failure(description: "avifdec: \(result)") }
        return String(decoding: result.standardOutput, as: UTF8.self)
    }
}
