import Testing

@testable import KFImaging

@Suite("Faults of animated PNGs")
struct APNGFaultTests {
    private typealias Chunk = (name: String, data: [UInt8])

    /// Red, a green square on it, then a blue pixel.
    private static var three: [Chunk] { Files.apngChunks(4, 3, [.red, .green, .blue], loops: 5) }

    /// The default image is decoded, with a warning, and the file is not refused.
    private func expectDefaultImage(
        _ chunks: [Chunk], _ reason: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let (bytes, color) = (Files.png(chunks), [255, 0, 0, 255])
        let warnings = [ImageWarning.animationLost(reason: reason)]
        #expect(try bytes.checkStructure() == warnings, sourceLocation: location)
        #expect(try bytes.probe().frames == 1, sourceLocation: location)
        let image = try ImageDecoder.decode(bytes)
        #expect(!image.isAnimated && image.warnings == warnings, sourceLocation: location)
        #expect(image.bitmap[0, 0] == color && image.bitmap[3, 2] == color, sourceLocation: location)
        #expect(try bytes.checkFully() == warnings, sourceLocation: location)
    }

    /// The three frames with bytes of a chunk replaced; chunk 2 and 4 and 7 are the frames' headers.
    private func changed(_ chunk: Int, _ offset: Int, _ bytes: [UInt8]) -> [Chunk] {
        var chunks = Self.three
        chunks[chunk].data.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        return chunks
    }

    private func without(_ indices: Int...) -> [Chunk] {
        Self.three.enumerated().filter { !indices.contains($0.offset) }.map(\.element)
    }

    @Test("The test animation has the expected chunks") func chunks() {
        #expect(
            Self.three.map(\.name) == [
                "IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "fdAT", "fcTL", "fdAT", "fdAT", "IEND",
            ])
    }

    @Test("An invalid animation header leaves the default image") func headers() throws {
        try expectDefaultImage(changed(1, 0, [0, 0, 0, 0]), "an invalid header")
        try expectDefaultImage(changed(1, 0, [0x80, 0, 0, 0]), "an invalid header")
        try expectDefaultImage(changed(1, 4, [0xFF, 0, 0, 0]), "an invalid header")
        var chunks = Self.three
        chunks[1].data.append(0)
        try expectDefaultImage(chunks, "an invalid header")
        chunks = Self.three
        chunks.insert(chunks[1], at: 5)
        try expectDefaultImage(chunks, "two headers")
        chunks = without(1)
        chunks.insert(Self.three[1], at: 3)
        try expectDefaultImage(chunks, "its header follows image data")
    }

    @Test("A wrong sequence number leaves the default image") func sequence() throws {
        for chunk in [2, 4, 5, 6, 7, 8, 9] {
            for number: UInt8 in [0, 1, 2, 3, 4, 5, 6, 7, 255] where Self.three[chunk].data[3] != number {
                try expectDefaultImage(changed(chunk, 3, [number]), "a wrong sequence number")
            }
        }
        // A chunk that is missing, doubled or exchanged.
        for chunk in [4, 5, 7] { try expectDefaultImage(without(chunk), "a wrong sequence number") }
        var chunks = Self.three
        chunks.insert(chunks[6], at: 6)
        try expectDefaultImage(chunks, "a wrong sequence number")
        chunks = Self.three
        chunks.swapAt(5, 6)
        try expectDefaultImage(chunks, "a wrong sequence number")
        // Too short for its number.
        chunks = Self.three
        chunks[9].data = [0, 0, 0]
        try expectDefaultImage(chunks, "a wrong sequence number")
    }

    @Test("An invalid frame leaves the default image") func frames() throws {
        for chunk in [2, 4, 7] {
            try expectDefaultImage(changed(chunk, 4, [0, 0, 0, 0]), "an invalid frame header")
            try expectDefaultImage(changed(chunk, 8, [0, 0, 0, 0]), "an invalid frame header")
            try expectDefaultImage(changed(chunk, 24, [3]), "an invalid frame header")
            try expectDefaultImage(changed(chunk, 25, [2]), "an invalid frame header")
            for offset in [4, 8, 12, 16] {
                for high: UInt8 in [0x00, 0x7F, 0xFF] {
                    try expectDefaultImage(changed(chunk, offset, [high, 0, 0, 5]), "a frame outside the canvas")
                }
            }
            var chunks = Self.three
            chunks[chunk].data.removeLast()
            try expectDefaultImage(chunks, "an invalid frame header")
        }
        try expectDefaultImage(changed(2, 7, [3]), "a first frame smaller than the canvas")
    }

    @Test("A frame without data leaves the default image") func missingData() throws {
        // Without the last frame's data, and without any frame.
        try expectDefaultImage(without(8, 9), "a frame without image data")
        try expectDefaultImage(without(2, 4, 5, 6, 7, 8, 9), "no frame")
        // Data that belongs to the default image, or to no frame.
        var chunks = without(4, 7, 8, 9)
        for (index, number) in [(4, 1), (5, 2)] { chunks[index].data[3] = UInt8(number) }
        try expectDefaultImage(chunks, "image data of no frame")
        chunks = without(2, 4, 7, 8, 9)
        for (index, number) in [(3, 0), (4, 1)] { chunks[index].data[3] = UInt8(number) }
        try expectDefaultImage(chunks, "image data of no frame")
        // Two frames before the image data.
        chunks = Self.three
        chunks.insert(("fcTL", [0, 0, 0, 1] + chunks[2].data[4...]), at: 3)
        try expectDefaultImage(chunks, "a frame without image data")
    }

    @Test("A PNG without an animation header is still") func still() throws {
        let bytes = Files.png(without(1))
        #expect(try bytes.checkStructure() == [] && bytes.probe().frames == 1)
        #expect(try !ImageDecoder.decode(bytes).isAnimated)
    }

    /// Browsers play the frames that they find.
    @Test("The frames in the file count, not the stated number", arguments: [1, 2, 4, 1_000_000])
    func frameCount(_ stated: Int) throws {
        let bytes = Files.apng(4, 3, [.red, .green, .blue], stated: stated)
        #expect(try bytes.checkStructure() == [] && bytes.probe().frames == 3)
        #expect(try ImageDecoder.decode(bytes).frames.count == 3)
    }

    @Test("Damaged data of a frame is an error") func damagedData() throws {
        var chunks = Self.three
        chunks[6].data[4] ^= 0x55
        // Too few rows.
        var short = Self.three
        short[8].data = Self.three[8].data.dropLast(12)
        short[9].data.removeLast(short[9].data.count - 4)
        for bytes in [Files.png(chunks), Files.png(short)] {
            #expect(try bytes.checkStructure() == [])
            let error = try #require(
                #expect(throws: ImagingError.self) { try bytes.checkFully() })
            #expect(throws: error) { try ImageDecoder.decode(bytes) }
            let first = try ImageDecoder.decode(bytes, options: .init(firstFrameOnly: true))
            #expect(first.bitmap[0, 0] == [255, 0, 0, 255])
        }
        // A damaged default image is one of the file, though no frame shows it.
        var chunksWithDefault = Files.apngChunks(
            4, 3, [.red, .green], defaultImage: [UInt8](repeating: 1, count: 48))
        let data = try #require(chunksWithDefault.firstIndex { $0.name == "IDAT" })
        chunksWithDefault[data].data[9] ^= 0x55
        #expect(throws: ImagingError.self) {
            try Files.png(chunksWithDefault).checkFully()
        }
    }

    @Test("A truncated animation is refused") func truncated() throws {
        for bytes in [
            // The image data of the last frame is longer than its first chunk.
            Files.apng(4, 3, [.red, .blue, .green]),
            Files.apng(4, 3, [.blue, .green], defaultImage: [UInt8](repeating: 1, count: 48)),
        ] {
            for count in 0..<bytes.count {
                let cut = Array(bytes[..<count])
                let isWhole = count >= bytes.count - 12
                let checked = Result { try cut.checkStructure() }
                let decoded = Result { try ImageDecoder.decode(cut) }
                if isWhole {
                    #expect(try checked.get().contains(.noEndMark(.png)), "\(count)")
                    #expect(try decoded.get().isAnimated, "\(count)")
                } else {
                    #expect(throws: ImagingError.self, "\(count)") { try checked.get() }
                    #expect(throws: ImagingError.self, "\(count)") { try decoded.get() }
                }
                // The frames are counted as far as the bytes reach.
                if count > 100 { #expect(try cut.probe().frames <= 3, "\(count)") }
            }
        }
    }

    /// The default image is complete before the fault.
    @Test("A truncated broken animation keeps its default image") func truncatedStill() throws {
        let bytes = Files.png(changed(4, 4, [0, 0, 0, 0]))
        for count in 0..<bytes.count - 12 {
            let cut = Array(bytes[..<count])
            let checked = Result { try cut.checkStructure() }
            let decoded = Result { try ImageDecoder.decode(cut) }
            if let image = try? decoded.get() {
                #expect(try image.warnings == checked.get() && image.warnings.contains(.noEndMark(.png)), "\(count)")
                #expect(!image.isAnimated && image.bitmap[0, 0] == [255, 0, 0, 255], "\(count)")
            } else {
                #expect(throws: ImagingError.self, "\(count)") { try checked.get() }
            }
        }
    }
}
