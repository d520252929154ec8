import CImageCodecs

/// The chunks of a PNG, read without decoding.
struct PNGStructure {
    var width = 0
    var height = 0
    var bitDepth = 8
    var colorType = 0
    var hasTransparentColor = false
    private(set) var colorSpace = PNGColorSpace()
    private var exif: [UInt8]?
    /// EXIF in a text chunk; an eXIf chunk overrides it.
    private var textExif: [UInt8]?
    private var xmp: [UInt8]?
    /// The number of text chunks that may still be inflated: each can expand to more than half a megabyte.
    private var textsLeft = 16
    /// The number of frames of an animated PNG; 0 for a still one.
    private(set) var animationFrames = 0
    private(set) var warnings: [ImageWarning] = []
    /// Whether a chunk of image data begins.
    private(set) var hasData = false
    /// Whether the end chunk is present.
    private(set) var isComplete = false
    /// Whether every chunk of image data that begins is complete.
    private(set) var hasWholeData = false
    private var isInterlaced = false
    private var dataBytes = 0

    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    var channels: Int { [1, 0, 3, 1, 2, 0, 4][colorType] }
    var hasAlpha: Bool { colorType == 4 || colorType == 6 || hasTransparentColor }

    /// Walks the chunks as far as the bytes reach.
    ///
    /// - Throws: `truncated` without a complete header, `corrupt` for an invalid header and for a wrong checksum of
    ///   transparency or animation. With `verifying`, also for a wrong checksum of any other chunk that pixels need.
    init(
        _ bytes: UnsafeRawBufferPointer, verifying: Bool = false, passage: ReadPassage = .silent
    ) throws(ImagingError) {
        var passage = passage
        guard bytes.starts(with: PNGStructure.signature) else { throw .corrupt(.png, reason: "no PNG signature") }
        var position = 8
        while let length = bytes.bigEndian32(at: position), bytes.count - position >= 8 {
            let body = position + 8
            passage.reach(position)
            if position > 8, let part = passage.arrived?.part(from: position), part.end <= bytes.count {
                hasData = true
                dataBytes += part.dataBytes
                position = part.end
                hasWholeData = bytes.count - position < 8
                continue
            }
            let isFirst = position == 8
            if isFirst != bytes.holds("IHDR", at: position + 4) || length > Int(Int32.max) {
                throw .corrupt(.png, reason: isFirst ? "no header at its start" : "an impossible chunk")
            }
            // A chunk that ends beyond the file is truncated and ignored.
            guard body + length + 4 <= bytes.count else {
                hasWholeData = hasData && !bytes.holds("IDAT", at: position + 4)
                break
            }
            let isAncillary = bytes[position + 4] & 0x20 != 0
            if verifying || isAncillary, !hasRightChecksum(bytes, chunk: position + 4, length: length, &passage) {
                guard isAncillary, !PNGStructure.holdsPixels(bytes, kind: position + 4) else {
                    throw .corrupt(.png, reason: "a wrong checksum")
                }
                warn(ofChecksum: bytes[position + 4..<position + 8])
            } else {
                try read(body..<body + length, bytes, kind: position + 4)
            }
            if isComplete { break }
            position = body + length + 4
            hasWholeData = hasData && bytes.count - position < 8
        }
        if width == 0 { throw .truncated(.png) }
        if isComplete, hasData, rawBytes / PNGStructure.mostOfAByte > dataBytes { throw .truncated(.png) }
    }

    /// The largest expansion by deflate: a match of 258 bytes takes at least two bits.
    private static let mostOfAByte = 1032

    /// Returns the faults that cost no pixel. The image data is inflated only when the end chunk is missing.
    ///
    /// - Throws: `truncated` when image data is missing, `corrupt` for a wrong checksum of a chunk that pixels need.
    static func check(
        _ bytes: UnsafeRawBufferPointer, verifying: Bool = true, passage: ReadPassage = .silent
    ) throws(ImagingError) -> [ImageWarning] {
        let structure = try PNGStructure(bytes, verifying: verifying, passage: passage)
        if structure.isComplete {
            if !structure.hasData { throw .corrupt(.png, reason: "no image data") }
            return structure.warnings
        }
        guard structure.hasWholeData, try PNGDataLength.reaches(structure.rawBytes, in: bytes) else {
            throw .truncated(.png)
        }
        return structure.warnings + [.noEndMark(.png)]
    }

    /// The bytes of all rows before compression, each row with its filter byte; `Int.max` on overflow.
    private var rawBytes: Int {
        func bytes(_ width: Int, _ height: Int) -> Int {
            let row = width == 0 ? 0 : 1 + (width * channels * bitDepth + 7) / 8
            let (sum, overflow) = row.multipliedReportingOverflow(by: height)
            return overflow ? .max : sum
        }
        guard isInterlaced else { return bytes(width, height) }
        // The first column and row of each pass, and the distance to the next ones.
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        return passes.reduce(0) { sum, pass in
            let (more, overflow) = sum.addingReportingOverflow(
                bytes((width - pass.0 + pass.2 - 1) / pass.2, (height - pass.1 + pass.3 - 1) / pass.3))
            return overflow ? .max : more
        }
    }

    /// Whether an ancillary chunk affects pixels: transparency, or the frames of an animated PNG.
    private static func holdsPixels(_ bytes: UnsafeRawBufferPointer, kind: Int) -> Bool {
        bytes.holds("tRNS", at: kind) || bytes.holds("acTL", at: kind) || bytes.holds("fcTL", at: kind)
            || bytes.holds("fdAT", at: kind)
    }

    private mutating func warn(ofChecksum name: Slice<UnsafeRawBufferPointer>) {
        let isText = name.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
        let warning = ImageWarning.wrongChecksum(chunk: isText ? String(decoding: name, as: UTF8.self) : "unnamed")
        // A file can have very many different ones.
        if !warnings.contains(warning), warnings.count < 8 { warnings.append(warning) }
    }

    private func hasRightChecksum(
        _ bytes: UnsafeRawBufferPointer, chunk: Int, length: Int, _ passage: inout ReadPassage
    ) -> Bool {
        guard let base = bytes.baseAddress, let stored = bytes.bigEndian32(at: chunk + 4 + length) else { return false }
        let end = chunk + length + 4
        var checksum: UInt32 = 0
        for start in stride(from: chunk, to: end, by: Self.slice) {
            let part = (base + start).assumingMemoryBound(to: UInt8.self)
            checksum = kf_crc32(checksum, part, min(Self.slice, end - start))
            passage.reach(start)
        }
        return Int(checksum) == stored
    }

    /// The number of bytes between two reports to the passage.
    private static let slice = 1 << 20

    private mutating func read(
        _ range: Range<Int>, _ bytes: UnsafeRawBufferPointer, kind: Int
    ) throws(ImagingError) {
        let body = UnsafeRawBufferPointer(rebasing: bytes[range])
        if bytes.holds("IHDR", at: kind) {
            try readHeader(body)
        } else if bytes.holds("IDAT", at: kind) {
            hasData = true
            dataBytes += range.count
        } else if bytes.holds("acTL", at: kind), !hasData, body.count == 8 {
            animationFrames = body.bigEndian32(at: 0) ?? 0
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

    /// The orientation from EXIF, else from EXIF in a text chunk, else from XMP.
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
        isInterlaced = body[12] == 1
    }
}

/// Checks by inflating whether a PNG's image data is complete.
enum PNGDataLength {
    /// Whether the complete chunks of image data inflate to at least `wanted` bytes; the output is discarded.
    static func reaches(_ wanted: Int, in bytes: UnsafeRawBufferPointer) throws(ImagingError) -> Bool {
        guard let inflater = kf_png_inflater_create() else { throw .outOfMemory(bytes: 1 << 17) }
        defer { kf_png_inflater_destroy(inflater) }
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        var position = 8
        while let length = bytes.bigEndian32(at: position), position + 12 + length <= bytes.count {
            if bytes.holds("IDAT", at: position + 4) {
                let status = kf_png_inflater_feed(inflater, base + position + 8, length, UInt64(wanted))
                if status != KF_MORE { return status == KF_OK }
            }
            position += 12 + length
        }
        return false
    }
}

/// Verifies the checksums of a PNG's image data while the file arrives, so that the probe and the check can skip the
/// data.
struct PNGImageData: ArrivalReader {
    private enum Part {
        case header
        case body(left: Int)
        case checksum
        /// Nothing more is read.
        case end
    }

    private var part = Part.header
    /// The offset of the next byte; the signature is skipped.
    private var position = 8
    /// The number of bytes of the signature that are still to arrive.
    private var signature = 8
    /// The header or checksum that is being read, and the number of its bytes so far.
    private var word: UInt64 = 0
    private var wordBytes = 0
    private var isData = false
    private var length = 0
    private var checksum: UInt32 = 0
    /// The offsets of the chunks of image data that follow each other and have the right checksums; nil before the
    /// first.
    private var run: Range<Int>?
    /// The number of bytes of image data in these chunks.
    private var dataBytes = 0

    mutating func read(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        if signature > 0 {
            let count = min(signature, rest.count)
            signature -= count
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
        while !rest.isEmpty {
            let count: Int
            switch part {
            case .header: count = readWord(of: 8, rest)
            case .body(let left): count = readBody(left, rest)
            case .checksum: count = readWord(of: 4, rest)
            case .end: return
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            position += count
            proceed()
        }
    }

    private mutating func readWord(of size: Int, _ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(size - wordBytes, bytes.count)
        for byte in bytes.prefix(count) { word = word << 8 | UInt64(byte) }
        wordBytes += count
        return count
    }

    private mutating func readBody(_ left: Int, _ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(left, bytes.count)
        if isData, let start = bytes.baseAddress {
            checksum = kf_crc32(checksum, start.assumingMemoryBound(to: UInt8.self), count)
        }
        part = .body(left: left - count)
        return count
    }

    /// Enters the next part when the current one is complete.
    private mutating func proceed() {
        switch part {
        case .header where wordBytes == 8:
            length = Int(word >> 32)
            isData = word & 0xFFFF_FFFF == Self.imageData
            if isData { checksum = Self.checksumOfName }
            part = length > Int(Int32.max) || run != nil && !isData ? .end : .body(left: length)
            wordBytes = 0
            word = 0
            // An empty body needs no byte to be complete.
            if length == 0 { proceed() }
        case .body(left: 0): part = .checksum
        case .checksum where wordBytes == 4:
            part = .header
            if isData { note(isRight: word == UInt64(checksum)) }
            wordBytes = 0
            word = 0
        default: break
        }
    }

    private mutating func note(isRight: Bool) {
        guard isRight else { return part = .end }
        run = (run?.lowerBound ?? position - length - 12)..<position
        dataBytes += length
    }

    func part(from position: Int) -> ArrivedPart? {
        guard let run, run.lowerBound == position else { return nil }
        return ArrivedPart(end: run.upperBound, dataBytes: dataBytes)
    }

    /// "IDAT".
    private static let imageData: UInt64 = 0x4944_4154

    /// The checksum covers the chunk's name first.
    private static let checksumOfName: UInt32 = kf_crc32(0, Array("IDAT".utf8), 4)
}
