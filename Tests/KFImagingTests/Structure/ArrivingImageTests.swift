import Support
import Testing

@testable import KFImaging

@Suite("Checks of arriving images")
struct ArrivingImageTests {
    private var random = Dice(7)

    private static func files() throws -> [(name: String, bytes: [UInt8])] {
        let image = Image(try Pictures.gradient(64, 48))
        let png = try ImageEncoder.encode(image, as: .png)
        func before(_ more: [[UInt8]]) -> [UInt8] { Array(png.dropLast(12)) + more.joined() + Array(png.suffix(12)) }
        let much = (0..<9).map { PNGChunk.bytes("IDAT", [UInt8](repeating: $0, count: 700)) }
        let text = PNGChunk.bytes("tEXt", Array("a\0b".utf8))
        return [
            ("png", png),
            ("png with much data", before(much)),
            ("png with split data", before([text, PNGChunk.bytes("IDAT", [1])])),
            ("png with an empty chunk", before([PNGChunk.bytes("IDAT", [])])),
            ("png without a header", Array(png[..<8] + png[33...])),
            ("jpeg", try ImageEncoder.encode(image, as: .jpeg)),
            ("progressive", try ImageEncoder.encode(image, as: .jpeg, options: .init(progressive: true))),
            ("restart markers", try Fixture.bytes("jpeg/restart.jpg")),
        ]
    }

    /// The result as text: the warnings or the error.
    private static func verdict(_ bytes: [UInt8], over arrived: ArrivingImage?) -> String {
        bytes.withRaw { raw in
            do throws(ImagingError) {
                let passage = ReadPassage(over: arrived) { _ in }
                return "\(String(describing: try ImageProbe.inspect(raw, passage: passage)))"
            } catch {
                return "\(error)"
            }
        }
    }

    /// Reads the bytes in pieces of random lengths.
    private mutating func arrive(_ bytes: [UInt8]) throws -> ArrivingImage {
        var image = try #require(bytes.withRaw { ArrivingImage(ContentKind.sniff($0)) })
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 1...400, using: &random)))
            piece.withRaw { image.read($0) }
            rest = rest.dropFirst(piece.count)
        }
        return image
    }

    private mutating func expectSameVerdict(_ bytes: [UInt8], _ name: String) throws {
        let arrived = try arrive(bytes)
        #expect(Self.verdict(bytes, over: arrived) == Self.verdict(bytes, over: nil), "\(name)")
    }

    @Test("A check on arrival gives the verdict of a later one") mutating func prefixes() throws {
        for (name, bytes) in try Self.files() {
            for length in Array(stride(from: 16, to: bytes.count, by: max(1, bytes.count / 700))) + [bytes.count] {
                try expectSameVerdict(Array(bytes[..<length]), "\(name), \(length) bytes")
            }
        }
    }

    @Test("A check on arrival finds the same damage") mutating func damage() throws {
        for (name, bytes) in try Self.files() {
            for _ in 0..<400 {
                var damaged = bytes
                let index = Int.random(in: 16..<bytes.count, using: &random)
                damaged[index] =
                    Bool.random(using: &random) ? 0xFF : damaged[index] ^ 1 << UInt8.random(in: 0..<8, using: &random)
                try expectSameVerdict(damaged, "\(name), byte \(index) is \(damaged[index])")
            }
        }
    }

    @Test("Parts that were read on arrival are skipped") mutating func skipped() throws {
        for (name, bytes) in try Self.files() where ["png", "jpeg", "progressive"].contains(name) {
            let arrived = try arrive(bytes)
            var changed = bytes
            // Image data: a wrong checksum in the PNG, an invalid marker in the JPEG.
            let index = bytes.count - 40
            (changed[index], changed[index + 1]) = (0xFF, 0xC8)
            #expect(Self.verdict(changed, over: nil) != Self.verdict(bytes, over: nil), "\(name)")
            #expect(Self.verdict(changed, over: arrived) == Self.verdict(bytes, over: nil), "\(name)")
        }
    }
}
