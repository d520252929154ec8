import Foundation
import Support
import Testing

@testable import KFImaging

@Suite("Allowances of memory and time")
struct AllowanceTests {
    private func allowance(_ memory: Int? = nil, time: Duration = .seconds(600)) -> Allowance {
        Allowance(DecodeLimits(maxMemory: memory, timeLimit: time), fileBytes: nil)
    }

    private func encoded(_ format: ImageFormat, _ options: EncodeOptions = .init()) throws -> [UInt8] {
        try ImageEncoder.encode(Image(Pictures.gradient(400, 300, .rgb)), as: format, options: options)
    }

    private func wide(_ width: Int, _ height: Int) -> [UInt8] {
        let header = Files.bigEndian(width) + Files.bigEndian(height) + [8, 0, 0, 0, 0]
        // The fewest bytes to which deflate can compress them.
        let data = [UInt8](repeating: 0, count: height * (width + 1) / 1032 + 1)
        return Files.png([
            Files.pngChunk("IHDR", header), Files.pngChunk("IDAT", data), Files.pngChunk("IEND", []),
        ])
    }

    @Test("The sides of a picture are limited") func sides() throws {
        for (width, height) in [(1, 100_000_000), (100_000_000, 1), (1_000_001, 2)] {
            #expect(throws: ImagingError.sideTooLong(width: width, height: height, maxSide: 1_000_000)) {
                try wide(width, height).probe()
            }
        }
        #expect(try wide(1_000_000, 2).probe().width == 1_000_000)
    }

    @Test("A narrow picture is padded little") func narrow() throws {
        #expect(try Bitmap(width: 1, height: 1000, format: .gray).byteCount == 8000)
        #expect(try Bitmap(width: 15, height: 10, format: .rgba).bytesPerRow == 64)
        #expect(try Bitmap(width: 65, height: 10, format: .gray).bytesPerRow == 128)
    }

    @Test("Small files have less memory") func smallMemory() {
        let limits = DecodeLimits()
        #expect(limits.memory(fileBytes: nil) == 1 << 30)
        #expect(limits.memory(fileBytes: 34) == (384 << 20) + 34 * 512)
        // With the 20 MiB of the program itself, below half a GiB.
        #expect(limits.memory(fileBytes: 200_000) < 490 << 20)
        #expect(limits.memory(fileBytes: 2_000_000) == 1 << 30)
        #expect(DecodeLimits(maxMemory: 7).memory(fileBytes: 2_000_000) == 7)
    }

    @Test("Small files have less time") func smallTime() {
        let (limits, small) = (DecodeLimits(), 256 << 10)
        // The limits of a debug build are six times as long.
        #expect(limits.time(fileBytes: small) * 6 == limits.time(fileBytes: small + 1))
        #expect(limits.time(fileBytes: 34) == limits.time(fileBytes: small))
        #expect(limits.time(fileBytes: nil) == limits.time(fileBytes: small + 1))
        #expect([.seconds(5), .seconds(30)].contains(limits.time(fileBytes: small)))
        #expect(DecodeLimits(timeLimit: .seconds(7)).time(fileBytes: 34) == .seconds(7))
    }

    @Test("Resumed work has the remaining time") func remaining() throws {
        let whole = allowance(time: .seconds(60))
        try whole.after(.seconds(59)).deadline.check()
        #expect(throws: ImagingError.timeLimit(.seconds(60))) { try whole.after(.seconds(61)).deadline.check() }
    }

    /// Computes on another thread while this one waits, as on a machine with other work.
    private func waitForAnother(to compute: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            compute()
            isDone.signal()
        }
        isDone.wait()
    }

    /// Keeps the processor busy.
    private static func burn(_ time: Duration) {
        let end = threadTime() + time
        while threadTime() < end {}
    }

    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test("Waiting uses no time of the allowance") func waiting() throws {
        let allowance = allowance(time: .milliseconds(40))
        try allowance.run { () throws(ImagingError) in
            waitForAnother { Self.burn(.milliseconds(60)) }
            try allowance.deadline.check()
        }
        #expect(allowance.spent < .milliseconds(40))
        #expect(throws: ImagingError.timeLimit(.milliseconds(40))) {
            try allowance.run { () throws(ImagingError) in
                Self.burn(.milliseconds(41))
                try allowance.deadline.check()
            }
        }
    }

    @Test("A thread's time counts from its first check") func firstCheck() throws {
        Self.burn(.milliseconds(60))
        let deadline = allowance(time: .milliseconds(40)).deadline
        try deadline.check()
        Self.burn(.milliseconds(41))
        #expect(throws: ImagingError.timeLimit(.milliseconds(40))) { try deadline.check() }
    }

    @Test("Waiting work has a sixtyfold time limit") func idle() throws {
        let allowance = allowance(time: .milliseconds(2))
        #expect(throws: ImagingError.timeLimit(.milliseconds(120))) {
            try allowance.run { () throws(ImagingError) in
                waitForAnother {
                    let end = ContinuousClock.now + .milliseconds(121)
                    while ContinuousClock.now < end {}
                }
                try allowance.deadline.check()
            }
        }
    }

    @Test("The time of all threads counts") func threads() throws {
        let allowance = allowance(time: .milliseconds(50))
        #expect(throws: ImagingError.timeLimit(.milliseconds(50))) {
            try allowance.run { () throws(ImagingError) in
                try RowBands.run((0..<4).map { $0..<$0 + 1 }) { (_) throws(ImagingError) in Self.burn(.milliseconds(15))
                }
                try allowance.deadline.check()
            }
        }
        #expect(allowance.spent >= .milliseconds(60))
    }

    @Test("Nested allowances count separately") func nested() throws {
        let (outer, inner) = (allowance(), allowance())
        try outer.run { () throws(ImagingError) in
            Self.burn(.milliseconds(5))
            try inner.run { () throws(ImagingError) in Self.burn(.milliseconds(20)) }
            Self.burn(.milliseconds(5))
        }
        #expect(inner.spent >= .milliseconds(20))
        #expect(outer.spent >= .milliseconds(10) && outer.spent < .milliseconds(20))
    }

    @Test("The threads of AVIF's coders count") func theThreadsOfAVIFsCodersCount() throws {
        var bitmap = try Bitmap(width: 1200, height: 900, format: .gray)
        try bitmap.withUnsafeMutableRows { rows in
            for y in 0..<900 { arc4random_buf(rows.row(y), 1200) }
        }
        let frame = ImageFrame(bitmap: bitmap, delay: .milliseconds(100))
        let noise = try #require(Image(frames: [frame, frame]))
        func own(_ allowance: Allowance, _ work: () throws(ImagingError) -> Void) throws(ImagingError) -> Duration {
            let start = Self.threadTime()
            try allowance.run(work)
            return Self.threadTime() - start
        }
        let (encoding, decoding) = (allowance(), allowance())
        var bytes: [UInt8] = []
        let ownOfEncoding = try own(encoding) { () throws(ImagingError) in
            bytes = try ImageEncoder.encode(noise, as: .avif, options: .init(speed: 9))
        }
        let ownOfDecoding = try own(decoding) { () throws(ImagingError) in _ = try ImageDecoder.decode(bytes) }
        #expect(encoding.spent > ownOfEncoding, "\(encoding.spent), \(ownOfEncoding)")
        #expect(decoding.spent > ownOfDecoding, "\(decoding.spent), \(ownOfDecoding)")
    }

    /// 34 bytes that encode 100 million pixels, and GIFs of a few bytes more.
    @Test("A tiny file cannot claim much memory") func tinyFiles() throws {
        let flat =
            Array("RIFF".utf8) + [26, 0, 0, 0] + Array("WEBPVP8L".utf8) + [14, 0, 0, 0, 0x2F, 0x0F, 0xE7, 0xC3, 0x09]
            + [0x88, 0x88, 0x08, 0, 0xFE, 0x8F, 0, 0, 0]
        let info = try flat.probe()
        #expect((info.width, info.height) == (10_000, 10_000))
        let dot = Files.GIFFrame(width: 1, height: 1, indexes: [1], disposal: 3)
        for bytes in [flat, Files.gif(10_000, 10_000, [dot]), Files.gif(9500, 9500, [dot, dot])] {
            let error = #expect(throws: ImagingError.self) {
                try FlippingImageProcessor(direction: .horizontal).process(.data(bytes), options: .init())
            }
            guard case .memoryLimit(_, let limit) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(limit == DecodeLimits().memory(fileBytes: bytes.count))
        }
    }

    /// Decoder, canvas, frames and results of processors count together: a limit that suffices for the decoder fails a
    /// chain.
    @Test("The memory of all stages counts together", arguments: [ImageFormat.png, .jpeg, .gif, .webp])
    func stages(_ format: ImageFormat) throws {
        let bytes = try encoded(format)
        let flip = FlippingImageProcessor(direction: .horizontal)
        func fits(_ memory: Int, _ work: () throws(ImagingError) -> Image) -> Bool {
            let allowance = allowance(memory)
            var fits = true
            do throws(ImagingError) {
                // The image is released inside.
                try allowance.run { () throws(ImagingError) in _ = try work() }
            } catch {
                fits = false
                if case .memoryLimit = error {} else { Issue.record("\(error)") }
            }
            let used = memory - allowance.memory.left
            #expect(used == 0, "\(used) bytes are not given back")
            return fits
        }
        func least(_ work: () throws(ImagingError) -> Image) -> Int {
            var (low, high) = (0, 4 << 20)
            while high - low > 8192 {
                let middle = (low + high) / 2
                if fits(middle, work) { high = middle } else { low = middle }
            }
            return high
        }
        let decoding = least { () throws(ImagingError) in try ImageDecoder.decode(bytes) }
        let flipping = least { () throws(ImagingError) in try flip.process(.data(bytes), options: .init()) }
        let picture = try ImageDecoder.decode(bytes).bitmap.byteCount
        #expect(decoding >= picture)
        #expect(flipping >= 2 * picture && flipping > decoding)
    }

    @Test("The coefficients of a progressive JPEG count") func coefficients() throws {
        let baseline = try encoded(.jpeg)
        let progressive = try encoded(.jpeg, .init(progressive: true))
        // The picture and some rows; the coefficients of 4:2:0 take as many bytes as the picture.
        let limit = 400 * 300 * 3 + 400 * 256 + 20_000
        _ = try allowance(limit).run { () throws(ImagingError) in try ImageDecoder.decode(baseline) }
        #expect(throws: ImagingError.self) {
            try allowance(limit).run { () throws(ImagingError) in try ImageDecoder.decode(progressive) }
        }
    }

    @Test("The memory of encoders counts", arguments: [ImageFormat.png, .jpeg, .gif, .webp])
    func encoders(_ format: ImageFormat) throws {
        var dice = Dice(5)
        let noise = Image(try Pictures.make(64, 64, .rgb) { _, _, _ in dice.roll(256) })
        let whole = try ImageEncoder.encode(noise, as: format)
        let roomy = allowance(16 << 20)
        #expect(try roomy.run { () throws(ImagingError) in try ImageEncoder.encode(noise, as: format) } == whole)
        #expect(roomy.memory.left == 16 << 20)
        let error = #expect(throws: ImagingError.self) {
            try allowance(4000).run { () throws(ImagingError) in try ImageEncoder.encode(noise, as: format) }
        }
        guard case .memoryLimit = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    /// libwebp encodes alpha without loss, which takes several times the memory of a lossy picture.
    @Test("The alpha of a WebP counts") func webpAlpha() throws {
        let clear = Image(try Bitmap(width: 1000, height: 1000, format: .rgba))
        #expect(throws: ImagingError.self) {
            try allowance(20 << 20).run { () throws(ImagingError) in try ImageEncoder.encode(clear, as: .webp) }
        }
        let opaque = Image(try Pictures.gradient(1000, 1000, .rgb))
        _ = try allowance(20 << 20).run { () throws(ImagingError) in try ImageEncoder.encode(opaque, as: .webp) }
    }

    /// Every loop over pixels checks the clock, on whichever thread it runs.
    @Test(
        "Every processor respects the time limit",
        arguments: [
            "flip:h", "rotate:90", "crop:900x900", "pad:2000x2000,#fff", "resize:500x500", "downsample:500x500",
            "blur:3",
            "sharpen:1", "color:saturation=0.5", "black-white", "grayscale", "tint:#ff000080", "overlay:#ff0000",
            "blend:multiply,background=#336699", "blend:hue,background=#336699", "round-corner:20", "border:5",
            "trim", "crop:900x900,anchor=attention", "crop:900x900,anchor=entropy",
        ])
    func processorTime(_ spec: String) throws {
        let image = Image(try Bitmap(width: 1100, height: 1100, format: .rgba))
        let processor = try ProcessorParser.parse(spec)
        let options = ProcessingOptions(decode: .init(limits: .init(timeLimit: .zero)))
        #expect(throws: ImagingError.timeLimit(.zero)) { try processor.process(.image(image), options: options) }
    }

    @Test("Every encoder respects the time limit", arguments: [ImageFormat.png, .jpeg, .gif, .webp])
    func encoderTime(_ format: ImageFormat) throws {
        let image = Image(try Bitmap(width: 1100, height: 1100, format: .rgb))
        #expect(throws: ImagingError.timeLimit(.zero)) {
            try allowance(time: .zero).run { () throws(ImagingError) in try ImageEncoder.encode(image, as: format) }
        }
    }

    @Test("Work without an allowance is not limited") func unlimited() throws {
        #expect(Allowance.current == nil)
        let bitmap = try Bitmap(width: 1100, height: 1100, format: .rgba)
        #expect(try bitmap.oriented(Orientation(3)).width == 1100)
    }
}
