import CImageCodecs

/// A PNG's chunks, read without decoding.
struct PNGStructure {
    var width = 0
    var height = 0
    var bitDepth = 8
    var colorType = 0
    var hasTransparentColor = false
    private(set) var colorSpace = PNGColorSpace()
    private var exif: [UInt8]?
    /// EXIF in a text chunk, which an eXIf chunk overrules.
    private var textExif: [UInt8]?
    private var xmp: [UInt8]?
    /// Text chunks that may still be opened: each can unpack to more than half a megabyte.
    private var textsLeft = 16
    /// Whether the image data begins; its end is another matter.
    private(set) var hasData = false
    private(set) var isComplete = false

    var channels: Int { [1, 0, 3, 1, 2, 0, 4][colorType] }
    var hasAlpha: Bool { colorType == 4 || colorType == 6 || hasTransparentColor }

    /// Walks the chunks as far as the bytes reach.
    ///
    /// - Throws: `truncated` when not even the header is there, `corrupt` for a header that cannot be, and for a
    ///   wrong checksum when they are to be verified.
    init(
        _ bytes: UnsafeRawBufferPointer, verifying: Bool = false, passage: ReadPassage = .silent
    ) throws(ImagingError) {
        var passage = passage
        guard ContentKind.sniff(bytes) == .image(.png) else { throw .corrupt(.png, reason: "no PNG signature") }
        var position = 8
        while let length = bytes.bigEndian32(at: position), bytes.count - position >= 8 {
            let body = position + 8
            passage.reach(position)
            let isFirst = position == 8
            if isFirst != bytes.holds("IHDR", at: position + 4) || length > Int(Int32.max) {
                throw .corrupt(.png, reason: isFirst ? "it does not begin with a header" : "a chunk that cannot be")
            }
            // An overlong chunk is a cut: nothing of it can be read.
            guard body + length + 4 <= bytes.count else { break }
            if verifying { try verify(bytes, chunk: position + 4, length: length, &passage) }
            try read(body..<body + length, bytes, kind: position + 4)
            if isComplete { break }
            position = body + length + 4
        }
        if width == 0 { throw .truncated(.png) }
    }

    /// - Throws: `truncated` when the data or the end chunk is missing, `corrupt` for a wrong checksum.
    static func check(
        _ bytes: UnsafeRawBufferPointer, verifying: Bool = true, passage: ReadPassage = .silent
    ) throws(ImagingError) {
        let structure = try PNGStructure(bytes, verifying: verifying, passage: passage)
        if !structure.isComplete { throw .truncated(.png) }
        if !structure.hasData { throw .corrupt(.png, reason: "no image data") }
    }

    private func verify(
        _ bytes: UnsafeRawBufferPointer, chunk: Int, length: Int, _ passage: inout ReadPassage
    ) throws(ImagingError) {
        guard let base = bytes.baseAddress, let stored = bytes.bigEndian32(at: chunk + 4 + length) else { return }
        let end = chunk + length + 4
        var checksum: UInt32 = 0
        for start in stride(from: chunk, to: end, by: Self.slice) {
            let part = (base + start).assumingMemoryBound(to: UInt8.self)
            checksum = kf_crc32(checksum, part, min(Self.slice, end - start))
            passage.reach(start)
        }
        if Int(checksum) != stored { throw .corrupt(.png, reason: "a wrong checksum") }
    }

    /// Bytes whose checksum is taken at a time.
    private static let slice = 1 << 20

    private mutating func read(
        _ range: Range<Int>, _ bytes: UnsafeRawBufferPointer, kind: Int
    ) throws(ImagingError) {
        let body = UnsafeRawBufferPointer(rebasing: bytes[range])
        if bytes.holds("IHDR", at: kind) {
            try readHeader(body)
        } else if bytes.holds("IDAT", at: kind) {
            hasData = true
        } else if bytes.holds("IEND", at: kind) {
            isComplete = true
        } else if bytes.holds("tRNS", at: kind), !hasData {
            hasTransparentColor = colorType == 0 || colorType == 2 || colorType == 3
        } else if bytes.holds("eXIf", at: kind) {
            if exif == nil, body.count <= ImageMetadata.maximumLength { exif = Array(body) }
        } else if xmp == nil, bytes.holds("iTXt", at: kind), PNGText.mayHoldXMP(body), textsLeft > 0 {
            textsLeft -= 1
            xmp = PNGText.xmp(body)
        } else if textExif == nil, PNGText.mayHoldExif(body), textsLeft > 0,
            bytes.holds("zTXt", at: kind) || bytes.holds("tEXt", at: kind)
        {
            textsLeft -= 1
            textExif = PNGText.exif(body, isCompressed: bytes.holds("zTXt", at: kind))
        } else if !hasData {
            colorSpace.read(bytes, kind: kind, body: body)
        }
    }

    var metadata: ImageMetadata? { ImageMetadata(uprightOf: exif ?? textExif, xmp) }

    /// From EXIF, else from EXIF in a text chunk, else from XMP.
    var orientation: Orientation {
        exif.flatMap { $0.withUnsafeBytes(ExifOrientation.read) }
            ?? textExif.flatMap { $0.withUnsafeBytes(ExifOrientation.read) }
            ?? xmp.flatMap { $0.withUnsafeBytes(XMPOrientation.read) } ?? .upright
    }

    private mutating func readHeader(_ body: UnsafeRawBufferPointer) throws(ImagingError) {
        guard body.count == 13, let width = body.bigEndian32(at: 0), let height = body.bigEndian32(at: 4) else {
            throw .corrupt(.png, reason: "a header of the wrong length")
        }
        guard width > 0, height > 0, width <= Int(Int32.max), height <= Int(Int32.max) else {
            throw .corrupt(.png, reason: "a picture of \(width)×\(height) pixels")
        }
        let depths: [Int: [Int]] = [0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]]
        let depth = Int(body[8])
        let type = Int(body[9])
        guard depths[type]?.contains(depth) == true else {
            throw .corrupt(.png, reason: "colour type \(type) with \(depth) bits")
        }
        guard body[10] == 0, body[11] == 0, body[12] < 2 else {
            throw .corrupt(.png, reason: "an unknown compression, filter or interlace method")
        }
        (self.width, self.height, bitDepth, colorType) = (width, height, depth, type)
    }
}
