/// The header of a JPEG XL's codestream, bare or in a container, and the boxes around it, read without libjxl.
struct JXLStructure: FileStructure {
    private(set) var size = PixelSize(width: 0, height: 0)
    private(set) var orientation = Orientation.upright
    private(set) var isAnimation = false
    private(set) var hasAlpha = false
    private(set) var isGray = false
    private(set) var bitDepth = 8
    /// Whether the first frame is known to be an opaque picture in blocks of 8 by 8 pixels, as lossy ones are.
    private(set) var isCodedInBlocks = false
    /// EXIF and XMP, unless they are compressed.
    private(set) var blocks = MetadataBlocks()
    private(set) var hasCompressedBlocks = false
    private var isComplete = true

    /// - Throws: `truncated` without a header, `corrupt` without a size.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) throws(ImagingError) {
        var start: Int? = 0
        if bytes.bigEndian16(at: 0) != 0xFF0A {
            start = try readBoxes(bytes)
        }
        guard let start, bytes.bigEndian16(at: start) == 0xFF0A else { throw .truncated(.jxl) }
        var bits = JXLBits(bytes, at: start + 2)
        guard let size = bits.size() else { throw .truncated(.jxl) }
        self.size = size
        guard max(size.width, size.height) <= 1 << 30 else { throw .corrupt(.jxl, reason: "no size") }
        readFields(&bits)
    }

    /// Finds the codestream in a container, its metadata, and whether the boxes are all there.
    private mutating func readBoxes(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> Int? {
        var (start, hasEnd, blocks, isCompressed): (Int?, Bool, MetadataBlocks, Bool) = (nil, false, blocks, false)
        let isWhole = try bytes.forEachBox(in: 0..<bytes.count) { box in
            switch box.kind {
            case "jxlc":
                start = start ?? box.body.lowerBound
                hasEnd = true
            case "jxlp":
                // A part follows its number, whose highest bit marks the last one.
                start = start ?? box.body.lowerBound + 4
                if let number = bytes.bigEndian32(at: box.body.lowerBound), number >> 31 == 1 { hasEnd = true }
            case "Exif":
                blocks.exif = blocks.exif ?? JXLStructure.exif(bytes.part(box.body))
            case "xml ": blocks.xmp = blocks.xmp ?? bytes.part(box.body)
            case "brob":
                let body = bytes.part(box.body)
                isCompressed = isCompressed || body.holds("Exif", at: 0) || body.holds("xml ", at: 0)
            default: return
            }
        }
        (isComplete, self.blocks, hasCompressedBlocks) = (isWhole && hasEnd, blocks, isCompressed)
        return start
    }

    /// The EXIF in a box, which begins with the distance to it.
    static func exif(_ box: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let skip = box.bigEndian32(at: 0), skip < box.count - 4 else { return nil }
        return box.part(4 + skip..<box.count)
    }

    /// Reads the fields behind the size. What is missing at the end of the bytes stays as usual.
    private mutating func readFields(_ bits: inout JXLBits) {
        var hasMore = false
        if bits.read(1) == 0 {
            hasMore = bits.read(1) == 1
            var hasPreview = false
            if hasMore {
                orientation = Orientation((bits.read(3) ?? 0) + 1)
                if bits.read(1) == 1 { _ = bits.size() }
                hasPreview = bits.read(1) == 1
                if hasPreview { bits.skipPreview() }
                isAnimation = bits.read(1) == 1
                if isAnimation { bits.skipAnimation() }
            }
            bitDepth = bits.depth() ?? 8
            _ = bits.read(1)
            guard let extras = bits.choice((0, 0), (1, 0), (2, 4), (1, 12)) else { return }
            for _ in 0..<extras {
                guard let isAlpha = bits.extraChannel() else { return }
                if isAlpha { hasAlpha = true }
            }
            let isXYB = bits.read(1) == 1
            guard let kind = bits.colorSpace() else { return }
            isGray = kind == .gray
            // Tone mapping as usual, and no extension.
            guard !hasPreview, extras == 0, isXYB, kind != .profile, !hasMore || bits.read(1) == 1, bits.read(2) == 0
            else { return }
        }
        // The transform as usual, then the first frame: as usual, or a regular one that is coded in blocks.
        guard bits.read(1) == 1 else { return }
        bits.align()
        isCodedInBlocks = bits.read(1) == 1 || bits.read(2) == 0 && bits.read(1) == 0
    }

    var info: ImageInfo {
        ImageInfo(
            format: .jxl, stored: size, orientation: orientation, hasAlpha: hasAlpha, colorModel: isGray ? .gray : .rgb,
            bitDepth: bitDepth)
    }

    /// Whether the averages of blocks are enough for a request of a still picture.
    func isCoarse(_ request: DecodeOptions) throws(ImagingError) -> Bool {
        let plan = try DecodePlan(request, source: size, orientation: orientation, bytesPerPixel: 4)
        guard isCodedInBlocks, plan.exact != nil, let minimum = plan.minimum else { return false }
        return minimum.width * 8 <= size.width && minimum.height * 8 <= size.height
    }

    /// A bare codestream does not state its length.
    func check() throws(ImagingError) -> [ImageWarning] {
        if !isComplete { throw .truncated(.jxl) }
        return []
    }
}

/// Reads the fields of a JPEG XL's header, from the lowest bit of each byte on. Each is nil behind the end of the bytes.
struct JXLBits {
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        self.bytes = bytes
        position = offset * 8
    }

    mutating func read(_ count: Int) -> Int? {
        guard position + count <= bytes.count * 8 else { return nil }
        defer { position += count }
        return (0..<count).reduce(0) { value, bit in
            let place = position + bit
            return value | Int(bytes[place / 8] >> UInt8(clamping: place % 8) & 1) << bit
        }
    }

    /// Two bits choose a base, to which a number of some bits is added.
    mutating func choice(_ ways: (base: Int, bits: Int)...) -> Int? {
        guard let way = read(2), let added = read(ways[way].bits) else { return nil }
        return ways[way].base + added
    }

    mutating func kind() -> Int? { choice((0, 0), (1, 0), (2, 4), (18, 6)) }

    mutating func size() -> PixelSize? {
        guard let isSmall = read(1), let height = side(isSmall == 1), let ratio = read(3) else { return nil }
        guard let width = ratio == 0 ? side(isSmall == 1) : JXLBits.width(height, ratio) else { return nil }
        return PixelSize(width: width, height: height)
    }

    private mutating func side(_ isSmall: Bool) -> Int? {
        isSmall ? read(5).map { ($0 + 1) * 8 } : choice((1, 9), (1, 13), (1, 18), (1, 30))
    }

    private static func width(_ height: Int, _ ratio: Int) -> Int {
        let ratios = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)]
        return height * ratios[ratio - 1].0 / ratios[ratio - 1].1
    }

    mutating func skipPreview() {
        let isDivided = read(1) == 1
        func skipSide(_ bits: inout JXLBits) {
            _ =
                isDivided
                ? bits.choice((16, 0), (32, 0), (1, 5), (33, 9)) : bits.choice((1, 6), (65, 8), (321, 10), (1345, 12))
        }
        skipSide(&self)
        if read(3) == 0 { skipSide(&self) }
    }

    mutating func skipAnimation() {
        _ = choice((100, 0), (1000, 0), (1, 10), (1, 30))
        _ = choice((1, 0), (1001, 0), (1, 8), (1, 10))
        _ = choice((0, 0), (0, 3), (0, 16), (0, 32))
        _ = read(1)
    }

    mutating func depth() -> Int? {
        guard read(1) == 1 else { return choice((8, 0), (10, 0), (12, 0), (1, 6)) }
        let bits = choice((32, 0), (16, 0), (24, 0), (1, 6))
        _ = read(4)
        return bits
    }

    enum ColorSpace { case gray, other, profile }

    /// Reads the colour space; nil for one with numbers of its own, which kf does not read.
    mutating func colorSpace() -> ColorSpace? {
        guard let isUsual = read(1) else { return nil }
        if isUsual == 1 { return .other }
        guard let hasProfile = read(1), let space = kind() else { return nil }
        if hasProfile == 1 { return space == 1 ? .gray : .profile }
        // White and primaries, of which 2 is followed by numbers; the curve, which may be a power; the intent.
        if space != 2, kind() == 2 || space != 1 && kind() == 2 { return space == 1 ? .gray : nil }
        _ = read(1) == 1 ? read(24) : kind()
        _ = kind()
        return space == 1 ? .gray : .other
    }

    /// Goes to the next whole byte.
    mutating func align() { position = (position + 7) / 8 * 8 }

    /// Reads an extra channel; whether it is alpha.
    mutating func extraChannel() -> Bool? {
        guard read(1) == 0 else { return position <= bytes.count * 8 ? true : nil }
        guard let kind = kind(), depth() != nil, choice((0, 0), (3, 0), (4, 0), (1, 3)) != nil,
            let name = choice((0, 0), (0, 4), (16, 5), (48, 10))
        else { return nil }
        position += name * 8
        switch kind {
        case 0: _ = read(1)
        case 2: position += 64
        case 5: _ = choice((1, 0), (0, 2), (3, 4), (19, 8))
        default: break
        }
        return kind == 0
    }
}
