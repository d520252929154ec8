import Foundation
import Support
import Testing

@testable import KFImaging

@Suite("AVIF encoding", .enabled(if: AVIFTools.areThere, "\(AVIFTools.absence)"))
struct AVIFEncodingTests {
    private func encode(_ bitmap: Bitmap, _ options: EncodeOptions = .init()) throws -> [UInt8] {
        try ImageEncoder.encode(Image(bitmap), as: .avif, options: options)
    }

    /// A picture with the detail of a photograph, that no quality encodes to nothing.
    private func detailed(_ width: Int, _ height: Int) throws -> Bitmap {
        try Pictures.make(width, height) { x, y, channel in
            128 + Int(clamping: 90 * sin(Double(x * (channel + 2)) / 9) * cos(Double(y) / 7)) + (x * 7 ^ y * 13) & 15
        }
    }

    @Test(
        "Every size and layout comes close",
        arguments: [(1, 1), (1, 7), (7, 1), (2, 3), (63, 41), (130, 67)],
        [PixelFormat.gray, .grayAlpha, .rgb, .rgba])
    func sizes(_ size: (Int, Int), _ format: PixelFormat) throws {
        for depth in [PixelFormat.Depth.eight, .sixteen] {
            let bitmap = try Pictures.gradient(size.0, size.1, PixelFormat(format.channels, depth))
            let bytes = try encode(bitmap, .init(quality: 95, chromaSubsampling: .none))
            let decoded = try AVIFTools.decode(bytes)
            #expect((decoded.width, decoded.height) == size)
            #expect(decoded.format.depth == depth)
            let distance = zip(decoded.rgba8, bitmap.rgba8).map { abs(Int($0) - Int($1)) }.max() ?? 255
            #expect(distance <= 12, "\(size) \(format) \(depth)")
        }
    }

    @Test("The properties are those of the picture and the options")
    func properties() throws {
        func info(_ format: PixelFormat, _ options: EncodeOptions = .init()) throws -> [String: String] {
            try AVIFTools.info(encode(Pictures.gradient(40, 30, format), options)).properties
        }
        let plain = try info(.rgb)
        #expect(plain["Resolution"] == "40x30" && plain["Bit Depth"] == "8" && plain["Format"] == "YUV420")
        #expect(plain["Alpha"] == "Absent" && plain["Range"] == "Full")
        #expect(plain["Color Primaries"] == "1" && plain["Transfer Char."] == "13" && plain["Matrix Coeffs."] == "6")
        #expect(try info(.rgb, .init(chromaSubsampling: .none))["Format"] == "YUV444")
        #expect(try info(.gray)["Format"] == "YUV400")
        let alpha = try info(.rgba)
        #expect(alpha["Alpha"]?.hasPrefix("Not premultiplied") == true, "\(alpha)")
        #expect(try info(PixelFormat(.rgb, .sixteen))["Bit Depth"] == "10")
        let lossless = try info(PixelFormat(.rgb, .sixteen), .init(lossless: true))
        #expect(lossless["Bit Depth"] == "12" && lossless["Format"] == "YUV444" && lossless["Matrix Coeffs."] == "0")
    }

    @Test("An alpha channel that is opaque everywhere is left out")
    func opaque() throws {
        let bitmap = try Pictures.make(20, 20, .rgba) { x, y, channel in channel == 3 ? 255 : x * y }
        #expect(try AVIFTools.info(encode(bitmap)).properties["Alpha"] == "Absent")
    }

    @Test("A lossless file has every sample of 8 bits", arguments: [PixelFormat.gray, .grayAlpha, .rgb, .rgba])
    func lossless(_ format: PixelFormat) throws {
        var dice = Dice(7)
        let noise = try Pictures.make(61, 43, format) { _, _, _ in dice.roll(256) }
        for bitmap in [noise, try Pictures.gradient(97, 33, format)] {
            let decoded = try AVIFTools.decode(encode(bitmap, .init(quality: 1, lossless: true)))
            #expect(decoded.rgba8 == bitmap.rgba8)
        }
    }

    @Test("A lossless file of a deep picture has 12 of its bits")
    func deepLossless() throws {
        let bitmap = try Pictures.gradient(64, 20, PixelFormat(.rgba, .sixteen))
        let decoded = try AVIFTools.decode(encode(bitmap, .init(lossless: true)))
        #expect(decoded.format == bitmap.format)
        #expect(decoded.distance(to: bitmap) <= 16)
    }

    @Test("Alpha is lossless at any quality")
    func alpha() throws {
        let bitmap = try Pictures.make(50, 40, .rgba) { x, y, channel in channel == 3 ? (x * 37 ^ y * 11) & 255 : 90 }
        let decoded = try AVIFTools.decode(encode(bitmap, .init(quality: 20)))
        for y in 0..<40 { for x in 0..<50 { #expect(decoded[x, y][3] == bitmap[x, y][3]) } }
    }

    @Test("A higher quality is closer and larger, and the speed is libaom's")
    func quality() throws {
        let bitmap = try detailed(160, 120)
        var last = (size: 0, psnr: 0.0)
        for quality in [1, 20, 40, 60, 80, 95] {
            let bytes = try encode(bitmap, .init(quality: quality))
            let psnr = try AVIFTools.decode(bytes).psnr(to: bitmap)
            #expect(bytes.count > last.size && psnr > last.psnr, "\(quality): \(bytes.count) bytes, \(psnr) dB")
            last = (bytes.count, psnr)
        }
        #expect(last.psnr > 34)
        #expect(try encode(bitmap) == encode(bitmap, .init(quality: 60)))
        let small = try detailed(64, 48)
        let speeds = try [2, 6, 10].map { try encode(small, .init(speed: $0)) }
        #expect(Set(speeds).count == 3)
        #expect(try encode(bitmap, .init(quality: 500, speed: 99)) == encode(bitmap, .init(quality: 100, speed: 10)))
    }

    @Test("A profile is embedded when it fits the pixels")
    func profile() throws {
        let source = try ImageDecoder.decode(Fixture.bytes("jpeg/icc-wide-gamut.jpg"))
        let profile = try #require(source.iccProfile)
        let kept = try ImageEncoder.encode(source, as: .avif)
        let properties = try AVIFTools.info(kept).properties
        #expect(properties["ICC Profile"] == "Present (\(profile.count) bytes)", "\(properties)")
        #expect(properties["Color Primaries"] == "2" && properties["Transfer Char."] == "2")
        var gray = Image(try Pictures.gradient(8, 8, .gray))
        gray.iccProfile = profile
        let unfit = try AVIFTools.info(ImageEncoder.encode(gray, as: .avif)).properties
        #expect(unfit["ICC Profile"] == "Absent" && unfit["Transfer Char."] == "13")
    }

    @Test("Metadata is carried when asked for, and its orientation turns nothing")
    func metadata() throws {
        var image = Image(try Pictures.gradient(20, 10))
        let exif = Files.exif(orientation: 6)
        let xmp = Array("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>".utf8)
        image.metadata = ImageMetadata(exif: exif, xmp: xmp)
        let kept = try ImageEncoder.encode(image, as: .avif, options: .init(keepsMetadata: true))
        let properties = try AVIFTools.info(kept).properties
        #expect(properties["Exif Metadata"] == "Present (\(exif.count) bytes)", "\(properties)")
        #expect(properties["XMP Metadata"] == "Present (\(xmp.count) bytes)")
        #expect(properties["Transformations"] == "None")
        let dropped = try AVIFTools.info(ImageEncoder.encode(image, as: .avif)).properties
        #expect(dropped["Exif Metadata"] == "Absent" && dropped["XMP Metadata"] == "Absent")
        image.metadata = ImageMetadata(exif: Array("no TIFF file".utf8))
        let damaged = try ImageEncoder.encode(image, as: .avif, options: .init(keepsMetadata: true))
        #expect(try AVIFTools.info(damaged).properties["Exif Metadata"] == "Absent")
    }

    @Test("An animation has its frames and durations", arguments: [PixelFormat.rgb, .rgba, .gray])
    func animation(_ format: PixelFormat) throws {
        let frames = try (0..<5).map { index in
            let bitmap = try Pictures.make(41, 30, format) { x, y, channel in
                let isInside = (index * 6..<index * 6 + 10).contains(x) && (5..<15).contains(y)
                return format.hasAlpha && channel == 3 ? (isInside || y > 20 ? 255 : 0) : isInside ? 240 : 40
            }
            return ImageFrame(bitmap: bitmap, delay: .milliseconds(40 + 10 * index))
        }
        let image = try #require(Image(frames: frames))
        let bytes = try ImageEncoder.encode(image, as: .avif, options: .init(lossless: true))
        let lines = try AVIFTools.info(bytes).lines.filter { $0.contains("Decoded frame") }
        #expect(lines.count == 5)
        for (index, line) in lines.enumerated() {
            #expect(line.contains("(\(40 + 10 * index) timescales)] [41x30]"), "\(line)")
            #expect(try AVIFTools.decode(bytes, frame: index).rgba8 == frames[index].bitmap.rgba8)
        }
    }

    @Test("Frames of different layouts are written in one that holds them all")
    func mixedFrames() throws {
        let bitmaps = [
            try Pictures.gradient(20, 16, .gray), try Pictures.gradient(20, 16, .rgba),
            try Pictures.gradient(20, 16, PixelFormat(.rgb, .sixteen)),
        ]
        let image = try #require(
            Image(frames: bitmaps.map { ImageFrame(bitmap: $0, delay: .milliseconds(100)) }))
        let bytes = try ImageEncoder.encode(image, as: .avif, options: .init(lossless: true))
        for (index, bitmap) in bitmaps.enumerated() {
            #expect(try AVIFTools.decode(bytes, frame: index).rgba8 == bitmap.rgba8)
        }
    }
}

extension AVIFEncodingTests {
    @Test("An animation with alpha is written at every speed", arguments: [6, 7, 8, 10])
    func fastAnimation(speed: Int) throws {
        let frames = try (0..<2).map { index in
            let bitmap = try Pictures.make(40, 22, .rgba) { x, y, channel in
                (x * (channel + 3) + y * 7 + index * 9) & 255
            }
            return ImageFrame(bitmap: bitmap, delay: .milliseconds(50))
        }
        let image = try #require(Image(frames: frames))
        let bytes = try ImageEncoder.encode(image, as: .avif, options: .init(speed: speed))
        #expect(try ImageDecoder.decode(bytes).frames.count == 2)
    }
}

@Suite("Limits of AVIF encoding")
struct AVIFEncodingLimitTests {
    @Test("The time of writing is not in the file", arguments: [1, 3])
    func noTimes(frames: Int) throws {
        let bitmaps = try (0..<frames).map { index in try Pictures.flat(40, 30, [index * 40, 90, 200]) }
        let image = try #require(
            Image(frames: bitmaps.map { ImageFrame(bitmap: $0, delay: .milliseconds(50)) }))
        let bytes = try ImageEncoder.encode(image, as: .avif)
        #expect(bytes == (try ImageEncoder.encode(image, as: .avif)))
        // The headers of a film, a track and its media: version and flags, then two times of 8 bytes.
        for name in ["mvhd", "tkhd", "mdhd"] {
            let places = bytes.indices.dropLast(24).filter { bytes[$0..<$0 + 4].elementsEqual(name.utf8) }
            #expect(places.count == (frames > 1 ? 1 : 0), "\(name)")
            for place in places {
                #expect(bytes[place + 4] == 1)
                #expect(bytes[(place + 8)..<(place + 24)].allSatisfy { $0 == 0 }, "\(name)")
            }
        }
    }

    @Test(
        "The number of threads changes no byte",
        arguments: [(64, 48, 1), (601, 203, 1), (4100, 8, 1), (8, 4100, 1), (80, 60, 2)], [6, 10])
    func threads(_ size: (width: Int, height: Int, frames: Int), _ speed: Int) throws {
        let frames = try (0..<size.frames).map { index in
            let bitmap = try Pictures.make(size.width, size.height, .rgba) { x, y, channel in
                (x * (channel + 3) ^ y * 7) & 63 + x / 32 + index * 9
            }
            return ImageFrame(bitmap: bitmap, delay: .milliseconds(50))
        }
        let image = try #require(Image(frames: frames))
        let options = EncodeOptions(quality: 60, speed: speed)
        let two = try AVIFEncoder.encode(image, options: options, threads: 2)
        for threads in [3, 8] {
            #expect(two == (try AVIFEncoder.encode(image, options: options, threads: threads)), "\(threads)")
        }
    }

    @Test("A side that AV1 cannot hold is an error with its reason")
    func sides() throws {
        let error = #expect(throws: ImagingError.self) {
            try ImageEncoder.encode(Image(Pictures.flat(65_537, 1, [1])), as: .avif)
        }
        #expect(error == .encodingFailed(.avif, reason: "a side of more than 65536 pixels"))
    }

    @Test("The memory of libaom counts before it is taken")
    func memory() throws {
        var limits = DecodeLimits()
        limits.maxMemory = 16 << 20
        let image = Image(try Pictures.flat(1000, 1000, [1, 2, 3]))
        let error = #expect(throws: ImagingError.self) {
            try Allowance(limits, fileBytes: nil).run { () throws(ImagingError) in
                try ImageEncoder.encode(image, as: .avif)
            }
        }
        if case .memoryLimit = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test("A deadline that has passed ends the work before the next frame")
    func deadline() throws {
        let image = Image(try Pictures.flat(100, 100, [1, 2, 3]))
        let spent = Allowance(DecodeLimits(), fileBytes: nil).after(.seconds(1 << 20))
        let error = #expect(throws: ImagingError.self) {
            try spent.run { () throws(ImagingError) in try ImageEncoder.encode(image, as: .avif) }
        }
        if case .timeLimit = error {} else { Issue.record("\(String(describing: error))") }
    }
}
