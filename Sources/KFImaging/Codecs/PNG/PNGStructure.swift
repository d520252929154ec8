import CImageCodecs

/// The chunks of a PNG, read without decoding.
struct PNGStructure {
    private(set) var size = PixelSize(width: 0, height: 0)
    private var bitDepth = 8
    private var colorType = 0
    private var hasTransparentColor = false
    private(set) var colorSpace = PNGColorSpace()
    private var exif: [UInt8]?
    /// EXIF in a text chunk; an eXIf chunk overrides it.
    private var textExif: [UInt8]?
    private var xmp: [UInt8]?
    /// The number of text chunks that may still be inflated: each can expand to more than half a megabyte.
    private var textsLeft = 16
    /// The animation, broken or not; nil for a still PNG.
    private var stated: PNGAnimation?
    /// The positions of the first PLTE, tRNS and iCCP chunk; 0 for none.
    private(set) var palette = 0
    private(set) var transparency = 0
    private var profile = 0
    private(set) var warnings: [ImageWarning] = []
    /// Whether a chunk of image data begins.
    private(set) var hasData = false
    /// Whether the end chunk is present.
    private(set) var isComplete = false
    /// Whether every chunk of image data that begins is complete, and no frame is missing.
    private(set) var hasWholeData = false
    private var isInterlaced = false
    private var dataBytes = 0

    /// Whether the signature of a PNG is at the offset.
    static func isSigned(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        bytes.bigEndian32(at: offset) == 0x8950_4E47 && bytes.bigEndian32(at: offset + 4) == 0x0D0A_1A0A
    }

    /// The samples of a pixel by the colour type.
    static func channels(_ colorType: Int) -> Int {
        switch colorType {
        case 2: 3
        case 4: 2
        case 6: 4
        default: 1
        }
    }

    /// Whether the pixels are grey, with or without alpha.
    var isGray: Bool { colorType == 0 || colorType == 4 }

    /// Whether transparency precedes the palette that it belongs to. libpng ignores it there.
    var hasEarlyTransparency: Bool { colorType == 3 && transparency > 0 && transparency < palette }

    private var hasAlpha: Bool {
        colorType == 4 || colorType == 6 || hasTransparentColor || animation?.uncovers == true
    }

    /// Walks the chunks as far as the bytes reach.
    ///
    /// - Throws: `truncated` without a complete header, `corrupt` for an invalid header and for a wrong checksum of
    ///   transparency or animation. With `verifying`, also for a wrong checksum of any other chunk that pixels need.
    init(
        _ bytes: UnsafeRawBufferPointer, verifying: Bool = false, passage: ReadPassage = .silent
    ) throws(ImagingError) {
        var passage = passage
        guard PNGStructure.isSigned(bytes, at: 0) else { throw .corrupt(.png, reason: "no PNG signature") }
        var position = 8
        while let length = bytes.bigEndian32(at: position), let kind = bytes.name(at: position + 4) {
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
            if isFirst, kind == "CgBI" {
                throw .unsupported(.png, feature: "a CgBI chunk, of Apple's own form of PNG,")
            }
            if isFirst != (kind == "IHDR") || length > Int(Int32.max) {
                throw .corrupt(.png, reason: isFirst ? "no header at its start" : "an impossible chunk")
            }
            // A chunk that ends beyond the file is truncated and ignored.
            guard body + length + 4 <= bytes.count else {
                let isFrame = stated != nil && PNGStructure.pixelKinds.contains(kind)
                hasWholeData = hasData && !isFrame && kind != "IDAT"
                break
            }
            let isAncillary = bytes[position + 4] & 0x20 != 0
            if verifying || isAncillary, !hasRightChecksum(bytes, chunk: position + 4, length: length, &passage) {
                guard isAncillary, !PNGStructure.pixelKinds.contains(kind) else {
                    throw .corrupt(.png, reason: "a wrong checksum")
                }
                warn(ofChecksum: bytes[position + 4..<position + 8])
            } else {
                try read(bytes.part(body..<body + length), kind, at: position)
            }
            if isComplete { break }
            position = body + length + 4
            hasWholeData = hasData && bytes.count - position < 8
        }
        if size.width == 0 { throw .truncated(.png) }
        if isComplete { stated?.end() }
        if let stated, stated.fault == nil, stated.lacksFrames { hasWholeData = false }
        if let fault = stated?.fault { warnings.append(.animationLost(reason: fault)) }
        if isComplete, hasData, rawBytes / PNGStructure.mostOfAByte > dataBytes { throw .truncated(.png) }
    }

    /// The largest expansion by deflate: a match of 258 bytes takes at least two bits.
    private static let mostOfAByte = 1032

    var info: ImageInfo {
        let model: ImageInfo.ColorModel = colorType == 3 ? .indexed : colorType & 2 == 0 ? .gray : .rgb
        return ImageInfo(
            format: .png, stored: size, orientation: orientation, frames: animation?.frames ?? 1,
            hasAlpha: hasAlpha, colorModel: model, bitDepth: bitDepth)
    }

    /// Returns the faults that cost no pixel. The image data is inflated only when the end chunk is missing.
    ///
    /// - Throws: `truncated` when image data is missing, `corrupt` for a wrong checksum of a chunk that pixels need.
    func check(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [ImageWarning] {
        if isComplete {
            if !hasData { throw .corrupt(.png, reason: "no image data") }
            return warnings
        }
        guard hasWholeData, try PNGDataLength.reaches(rawBytes, in: bytes), try hasLastFrame(bytes) else {
            throw .truncated(.png)
        }
        return warnings + [.noEndMark(.png)]
    }

    /// Whether the data of an animation's last frame is complete; true for a still PNG.
    private func hasLastFrame(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> Bool {
        guard let animation, let last = animation.last, animation.lastHasOwnData else { return true }
        return try PNGDataLength.reaches(
            rawBytes(last.size), in: bytes, from: animation.lastControl, ofFrame: true)
    }

    private var rawBytes: Int { rawBytes(size) }

    /// The bytes of all rows before compression, each row with its filter byte; `Int.max` on overflow.
    private func rawBytes(_ size: PixelSize) -> Int {
        func bytes(_ width: Int, _ height: Int) -> Int {
            let row = width == 0 ? 0 : 1 + (width * PNGStructure.channels(colorType) * bitDepth + 7) / 8
            let (sum, overflow) = row.multipliedReportingOverflow(by: height)
            return overflow ? .max : sum
        }
        guard isInterlaced else { return bytes(size.width, size.height) }
        // The first column and row of each pass, and the distance to the next ones.
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        return passes.reduce(0) { sum, pass in
            let (more, overflow) = sum.addingReportingOverflow(
                bytes((size.width - pass.0 + pass.2 - 1) / pass.2, (size.height - pass.1 + pass.3 - 1) / pass.3))
            return overflow ? .max : more
        }
    }

    /// The ancillary chunks that affect pixels: transparency, and the frames of an animated PNG.
    private static let pixelKinds: Set<FourCharacters> = ["tRNS", "acTL", "fcTL", "fdAT"]

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
        _ body: UnsafeRawBufferPointer, _ kind: FourCharacters, at position: Int
    ) throws(ImagingError) {
        switch kind {
        case "IHDR": try readHeader(body)
        case "IDAT":
            hasData = true
            dataBytes += body.count
        case "acTL" where stated == nil: stated = PNGAnimation(body, canvas: size, isLate: hasData)
        case "acTL": stated?.repeatHeader()
        case "fcTL": stated?.readControl(body, at: position, hasData: hasData)
        case "fdAT": stated?.readData(body)
        case "IEND": isComplete = true
        case "PLTE": if palette == 0 { palette = position }
        case "iCCP" where !hasData: if profile == 0 { profile = position }
        case "tRNS" where !hasData:
            if transparency == 0 { transparency = position }
            hasTransparentColor = colorType == 0 || colorType == 2 || colorType == 3
        case "eXIf": if exif == nil, body.count <= ImageMetadata.maximumLength { exif = Array(body) }
        case "iTXt" where xmp == nil && textsLeft > 0 && PNGText.mayHoldXMP(body):
            textsLeft -= 1
            xmp = PNGText.xmp(body)
        case "zTXt", "tEXt":
            guard textExif == nil, textsLeft > 0, PNGText.mayHoldExif(body) else { break }
            textsLeft -= 1
            textExif = PNGText.exif(body, isCompressed: kind == "zTXt")
        default: if !hasData { colorSpace.read(body, kind) }
        }
    }

    /// The animation as far as the bytes reach; nil for a still PNG, and for an animation that breaks its format.
    ///
    /// PNG's third edition recommends to show the default image in place of an animation with any error.
    var animation: PNGAnimation? {
        guard let stated, stated.fault == nil, stated.frames > 0 else { return nil }
        return stated
    }

    /// Returns the animation if more of it than the default image is wanted.
    func animation(firstFrameOnly: Bool) -> PNGAnimation? {
        guard let animation else { return nil }
        return animation.startsWithDefaultImage && (firstFrameOnly || animation.frames == 1) ? nil : animation
    }

    /// Returns the embedded profile; nil without one, and for a damaged one.
    ///
    /// libpng would drop profiles that lcms2 reads, such as one with an invalid rendering intent.
    func embeddedProfile(in bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        guard profile > 0, let chunk = bytes.chunk(at: profile) else { return nil }
        let body = bytes.part(chunk.body)
        // A name that ends in NUL, and the method of compression.
        guard let end = body.firstIndex(of: 0), end + 2 <= body.count, body[end + 1] == 0 else { return nil }
        return body.part(end + 2..<body.count).inflated(limit: PNGStructure.longestProfile)
    }

    private static let longestProfile = 8 << 20

    var metadata: ImageMetadata? { ImageMetadata(uprightOf: exif ?? textExif, xmp) }

    /// The orientation from EXIF, else from EXIF in a text chunk, else from XMP.
    var orientation: Orientation {
        exif.flatMap { $0.withUnsafeBytes(ExifFile.orientation) }
            ?? textExif.flatMap { $0.withUnsafeBytes(ExifFile.orientation) }
            ?? xmp.flatMap { $0.withUnsafeBytes(XMPPacket.orientation) } ?? .upright
    }

    private mutating func readHeader(_ body: UnsafeRawBufferPointer) throws(ImagingError) {
        guard body.count == 13, let width = body.bigEndian32(at: 0), let height = body.bigEndian32(at: 4) else {
            throw .corrupt(.png, reason: "a header of the wrong length")
        }
        guard width > 0, height > 0, width <= Int(Int32.max), height <= Int(Int32.max) else {
            throw .corrupt(.png, reason: "a picture of \(width)×\(height) pixels")
        }
        let depth = Int(body[8])
        let type = Int(body[9])
        switch (type, depth) {
        case (0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (3, 1), (3, 2), (3, 4), (3, 8), (2, 8), (2, 16), (4, 8), (4, 16),
            (6, 8), (6, 16):
            break
        default: throw .corrupt(.png, reason: "colour type \(type) with \(depth) bits")
        }
        guard body[10] == 0, body[11] == 0, body[12] < 2 else {
            throw .corrupt(.png, reason: "an unknown compression, filter or interlace method")
        }
        (size, bitDepth, colorType) = (PixelSize(width: width, height: height), depth, type)
        isInterlaced = body[12] == 1
    }
}

/// Checks by inflating whether a PNG's image data is complete.
enum PNGDataLength {
    /// Whether the complete chunks of image data from `start` on, or of a frame's data, inflate to at least `wanted`
    /// bytes; the output is discarded.
    static func reaches(
        _ wanted: Int, in bytes: UnsafeRawBufferPointer, from start: Int = 8, ofFrame: Bool = false
    ) throws(ImagingError) -> Bool {
        guard let inflater = kf_png_inflater_create() else { throw .outOfMemory(bytes: 1 << 17) }
        defer { kf_png_inflater_destroy(inflater) }
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        // A frame's data has a sequence number in front.
        let skipped = ofFrame ? 4 : 0
        var position = start
        while let chunk = bytes.chunk(at: position) {
            if chunk.kind == (ofFrame ? "fdAT" : "IDAT"), chunk.body.count >= skipped {
                let data = base + chunk.body.lowerBound + skipped
                let status = kf_png_inflater_feed(inflater, data, chunk.body.count - skipped, UInt64(wanted))
                if status != KF_MORE { return status == KF_OK }
            }
            position = chunk.end
        }
        return false
    }
}

extension UnsafeRawBufferPointer {
    /// The chunk of a PNG at an offset, and the offset behind it; nil for one that is not complete.
    func chunk(at position: Int) -> (kind: FourCharacters, body: Range<Int>, end: Int)? {
        guard let length = bigEndian32(at: position), let kind = name(at: position + 4), position + 12 + length <= count
        else { return nil }
        return (kind, position + 8..<position + 8 + length, position + 12 + length)
    }
}
