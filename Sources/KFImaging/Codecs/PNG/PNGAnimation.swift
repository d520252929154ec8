/// The animation of a PNG, read chunk by chunk (APNG, part of PNG's third edition).
///
/// The frames are counted and not kept, so that a long list of frames takes no memory. `PNGFrames` finds them again.
struct PNGAnimation {
    /// The number of times that the animation plays; 0 is forever.
    let loopCount: Int
    /// The number of frames so far.
    private(set) var frames = 0
    /// The first violation of the format; nil when there is none.
    private(set) var fault: String?
    /// Whether the image that programs without animations show is the first frame; else it is not a part of the
    /// animation.
    private(set) var startsWithDefaultImage = false
    /// Whether pixels of the canvas become transparent, whatever the frames hold.
    private(set) var uncovers = false
    /// The positions of the first and of the last fcTL chunk.
    private(set) var firstControl = 0
    private(set) var lastControl = 0
    /// The last frame so far.
    private(set) var last: PNGFrame?

    private let canvas: PixelSize
    private let statedFrames: Int
    private var sequence = 0
    /// Whether image data of the last frame begins.
    private var hasData = true

    /// Reads an acTL chunk, which is late behind image data.
    init(_ body: UnsafeRawBufferPointer, canvas: PixelSize, isLate: Bool) {
        self.canvas = canvas
        statedFrames = body.bigEndian32(at: 0) ?? 0
        loopCount = body.bigEndian32(at: 4) ?? 0
        if body.count != 8 || statedFrames == 0 || max(statedFrames, loopCount) > Int(Int32.max) {
            fault = "an invalid header"
        } else if isLate {
            fault = "its header follows image data"
        }
    }

    mutating func repeatHeader() { fail("two headers") }

    /// Reads a fcTL chunk; `hasData` states whether image data precedes it.
    mutating func readControl(_ body: UnsafeRawBufferPointer, at position: Int, hasData: Bool) {
        guard takeNumber(body) else { return }
        guard let frame = PNGFrame(body) else { return fail("an invalid frame header") }
        if !self.hasData { return fail("a frame without image data") }
        guard frame.left + frame.size.width <= canvas.width, frame.top + frame.size.height <= canvas.height else {
            return fail("a frame outside the canvas")
        }
        if !hasData {
            if frames > 0 { return fail("a frame without image data") }
            if frame.size != canvas { return fail("a first frame smaller than the canvas") }
            startsWithDefaultImage = true
        }
        if frames == 0 { firstControl = position }
        if frame.disposal == .background || frames == 0 && (frame.disposal == .previous || frame.size != canvas) {
            uncovers = true
        }
        frames += 1
        lastControl = position
        last = frame
        self.hasData = !hasData
    }

    /// Reads the number of a fdAT chunk.
    mutating func readData(_ body: UnsafeRawBufferPointer) {
        guard takeNumber(body) else { return }
        if frames == 0 || !lastHasOwnData { return fail("image data of no frame") }
        hasData = true
    }

    /// Takes note of the end of the file.
    mutating func end() {
        if frames == 0 { fail("no frame") }
        if !hasData { fail("a frame without image data") }
    }

    /// Whether the data of the last frame is in fdAT chunks.
    var lastHasOwnData: Bool { frames > 1 || !startsWithDefaultImage }

    /// Whether frames that the header states are missing, or the last one has no image data. An end chunk makes the
    /// frames before it the whole animation.
    var lacksFrames: Bool { frames < statedFrames || !hasData }

    /// Compares a chunk's number with the next one of the sequence. Returns whether the animation is valid so far.
    private mutating func takeNumber(_ body: UnsafeRawBufferPointer) -> Bool {
        if body.bigEndian32(at: 0) != sequence { fail("a wrong sequence number") }
        sequence += 1
        return fault == nil
    }

    private mutating func fail(_ reason: String) {
        if fault == nil { fault = reason }
    }
}

/// A frame of an animated PNG, as its fcTL chunk describes it.
struct PNGFrame {
    /// The treatment of the frame's area before the next frame is drawn.
    enum Disposal: UInt8 {
        case none, background, previous
    }

    let left, top: Int
    let size: PixelSize
    let delay: Duration
    let disposal: Disposal
    let blends: Bool

    /// Nil for a body that the format does not allow.
    init?(_ body: UnsafeRawBufferPointer) {
        guard body.count == 26, let width = body.bigEndian32(at: 4), let height = body.bigEndian32(at: 8),
            let left = body.bigEndian32(at: 12), let top = body.bigEndian32(at: 16),
            let numerator = body.bigEndian16(at: 20), let denominator = body.bigEndian16(at: 22),
            let disposal = Disposal(rawValue: body[24]), width > 0, height > 0, body[25] < 2
        else { return nil }
        (self.left, self.top, self.disposal) = (left, top, disposal)
        size = PixelSize(width: width, height: height)
        delay = .seconds(numerator) / (denominator == 0 ? 100 : denominator)
        blends = body[25] == 1
    }
}

/// The frames of a valid animation, in their order, found by a second walk over the chunks.
struct PNGFrames {
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    init(_ animation: PNGAnimation, in bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = animation.firstControl
    }

    /// Returns the next frame and the chunks that follow its description; nil at the end.
    mutating func next() -> (frame: PNGFrame, chunks: Range<Int>)? {
        guard let control = bytes.chunk(at: position), control.kind == "fcTL",
            let frame = PNGFrame(bytes.part(control.body))
        else { return nil }
        position = control.end
        while let chunk = bytes.chunk(at: position), chunk.kind != "fcTL", chunk.kind != "IEND" { position = chunk.end }
        return (frame, control.end..<position)
    }
}
