import Testing

@testable import KFImaging

@Suite("Structure of AVIF files")
struct AVIFStructureTests {
    @Test("The probe of a still picture reads its facts") func aStillStatesItsFacts() throws {
        let bytes = Files.avif(Files.avifProperties(30, 20))
        #expect(try bytes.probe() == ImageInfo(format: .avif, width: 30, height: 20))
        try bytes.checkStructure()
        // 12 bits, monochrome.
        let deep = try Files.avif(Files.avifProperties(30, 20, av1C: 0x7C)).probe()
        #expect(deep.bitDepth == 12 && deep.colorModel == .gray)
        #expect(try Array(bytes.prefix(bytes.count - 100)).probe() == bytes.probe(), "the header alone is enough")
    }

    @Test(
        "irot and imir make an orientation",
        arguments: [
            (0, nil, 1), (1, nil, 8), (2, nil, 3), (3, nil, 6), (0, 0, 4), (1, 0, 5), (2, 0, 2), (3, 0, 7), (0, 1, 2),
            (1, 1, 7), (2, 1, 4), (3, 1, 5),
        ] as [(UInt8, UInt8?, Int)])
    func orientation(_ turns: UInt8, _ mode: UInt8?, _ expected: Int) throws {
        let turn = [Files.box("irot", [turns])] + (mode.map { [Files.box("imir", [$0])] } ?? [])
        let info = try Files.avif(Files.avifProperties(30, 20, others: turn)).probe()
        #expect(info.orientation == expected)
        #expect((info.width, info.height) == (turns % 2 == 1 ? (20, 30) : (30, 20)))
    }

    @Test("A clean aperture crops only to whole pixels inside the picture")
    func aperture() throws {
        func size(_ numbers: [Int]) throws -> [Int] {
            let clap = Files.box("clap", numbers.flatMap { Files.bigEndian($0 & 0xFFFF_FFFF) })
            let info = try Files.avif(Files.avifProperties(30, 20, others: [clap])).probe()
            return [info.width, info.height]
        }
        #expect(try size([10, 1, 6, 1, 0, 1, 0, 1]) == [10, 6])
        #expect(try size([10, 1, 6, 1, -10, 1, 7, 1]) == [10, 6])
        #expect(try size([22, 2, 5, 1, 1, 2, 1, 2]) == [11, 5])
        for wrong in [
            [10, 1, 6, 1, -11, 1, 0, 1], [10, 1, 6, 1, 0, 1, 8, 1], [31, 1, 6, 1, 0, 1, 0, 1],
            [0, 1, 6, 1, 0, 1, 0, 1],
            [11, 1, 6, 1, 0, 1, 0, 1], [10, 0, 6, 1, 0, 1, 0, 1], [10, 1, 6, 1, 0, 0, 0, 1],
            [0xFFFF_FFFF, 0xFFFF_FFFF, 6, 1, 0x8000_0000, 0xFFFF_FFFF, 0, 1],
        ] {
            #expect(try size(wrong) == [30, 20], "\(wrong)")
        }
    }

    /// A still AVIF with these contents of its box of locations.
    private func file(locations: [UInt8]...) throws -> [UInt8] {
        var bytes = Files.avif(Files.avifProperties(30, 20))
        let start = try #require(bytes.firstRange(of: Array("iloc".utf8))).lowerBound - 4
        let meta = try #require(bytes.firstRange(of: Array("meta".utf8))).lowerBound - 4
        let size = Int(bytes[meta + 2]) << 8 | Int(bytes[meta + 3])
        let iloc = Files.box("iloc", Array(locations.joined()))
        bytes.replaceSubrange(start..<start + 30, with: iloc)
        bytes.replaceSubrange(meta..<meta + 4, with: Files.bigEndian(size + iloc.count - 30))
        return bytes
    }

    @Test("An item of the largest length is incomplete")
    func longestItem() throws {
        let bytes = try file(
            locations: Files.bigEndian(0), [0x48, 0], [0, 1, 0, 1, 0, 0, 0, 1], Files.bigEndian(40),
            [0x7F] + [UInt8](repeating: 0xFF, count: 7))
        #expect(try bytes.probe().width == 30)
        #expect(throws: ImagingError.truncated(.avif)) { try bytes.checkStructure() }
    }

    @Test("An item is read once, however often it is located")
    func repeatedItem() throws {
        // Each of 20,000 entries has all bytes of the file in two extents: a copy of each would be 10 GB.
        let entry = [0, 0, 0, 1, 0, 0, 0, 0, 0, 2] + Files.bigEndian(0) + Files.bigEndian(260_000)
        let entries = [[UInt8]](repeating: entry + Files.bigEndian(0) + Files.bigEndian(260_000), count: 20_000)
        let bytes = try file(
            locations: [2, 0, 0, 0, 0x44, 0], Files.bigEndian(20_000), Array(entries.joined()))
        #expect(try bytes.withRaw { try AVIFStructure($0).coded.count } == 1)
    }

    @Test("The probe of an animation reads its facts") func anAnimationStatesItsFacts() throws {
        for frames in [1, 2, 7] {
            let bytes = Files.avis(30, 20, frames: frames)
            #expect(try bytes.probe() == ImageInfo(format: .avif, width: 30, height: 20, frames: frames, bitDepth: 10))
            try bytes.checkStructure()
            #expect(throws: ImagingError.truncated(.avif)) { try Array(bytes.dropLast()).checkStructure() }
        }
    }

    @Test("an edit list states how often an animation plays")
    func plays() throws {
        func plays(_ loop: (Bool, Int?)?) throws -> Int {
            try Files.avis(30, 20, frames: 2, loop: loop).withRaw { try AVIFStructure($0).loopCount }
        }
        #expect(try plays(nil) == 0)
        #expect(try plays((false, 1)) == 1)
        #expect(try plays((true, 3)) == 3)
        #expect(try plays((true, nil)) == 0)
    }

    @Test("A file that ends early is truncated") func theEndOfTheFileIsMissed() throws {
        let bytes = Files.avif(Files.avifProperties(30, 20))
        for count in 16..<bytes.count {
            #expect(throws: ImagingError.truncated(.avif), "\(count)") {
                try Array(bytes.prefix(count)).checkStructure()
            }
        }
        try (bytes + Array("appended".utf8)).checkStructure()
        for extent in [(bytes.count - 50, 51), (bytes.count, 1), (0xFFFF_FFFF, 0xFFFF_FFFF)] {
            #expect(throws: ImagingError.truncated(.avif)) {
                try Files.avif(Files.avifProperties(30, 20), extent: extent).checkStructure()
            }
        }
    }

    @Test("Numbers that no encoder writes are refused early")
    func hostile() throws {
        #expect(throws: ImagingError.self) { try Files.avif(Files.avifProperties(0, 20)).probe() }
        #expect(throws: ImagingError.tooLarge(width: 0xFFFF_FFFF, height: 0xFFFF_FFFF, maxPixels: 100_000_000)) {
            try Files.avif(Files.avifProperties(0xFFFF_FFFF, 0xFFFF_FFFF)).probe()
        }
        #expect(throws: ImagingError.unsupported(.avif, feature: "more than 65536 mentions of items")) {
            try ImageDecoder.decode(Files.avif(Files.avifProperties(30, 20), items: 70_000))
        }
        // libavif reads the items of every meta box.
        let crowd = Files.box("meta", Files.bigEndian(0), Files.box("iref", [UInt8](repeating: 0, count: 140_000)))
        for file in [Files.avif(Files.avifProperties(30, 20)), Files.avis(30, 20, frames: 2)] {
            #expect(try (file + crowd).withRaw { try AVIFStructure($0).undecodable }?.contains("mentions") == true)
        }
        // A frame is 2 bytes.
        let frames =
            Files.avif(Files.avifProperties(30, 20)).dropLast(100) + (0..<50).flatMap { _ in [0x32 as UInt8, 0] }
        #expect(
            try Array(frames).withRaw { try AVIFStructure($0).undecodable } == "more than 16 frames in a picture")
        // Every count and size of the boxes becomes the largest number.
        for original in [Files.avif(Files.avifProperties(30, 20)), Files.avis(30, 20, frames: 7)] {
            for position in 0..<original.count - 4 {
                var bytes = original
                for offset in 0..<4 { bytes[position + offset] = 0xFF }
                do {
                    try bytes.checkStructure()
                    _ = try bytes.probe()
                } catch {
                    #expect(!error.message.isEmpty)
                }
            }
        }
    }
}
