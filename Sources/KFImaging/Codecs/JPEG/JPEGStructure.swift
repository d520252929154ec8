import Glibc

/// The segments of a JPEG before its first scan, read without decoding and without allocating.
struct JPEGStructure {
    private(set) var size = PixelSize(width: 0, height: 0)
    private(set) var components = 0
    private(set) var bitDepth = 8
    /// The number of coefficients of all components, in whole blocks; a decoder keeps them when there are several
    /// scans.
    private(set) var coefficients = 0
    private var frameMarker: UInt8 = 0
    private(set) var blocks = MetadataBlocks()
    private var hasImpossibleLength = false
    /// Whether a gain map behind the picture makes it HDR: in the form of Adobe and Ultra HDR, or of ISO 21496-1.
    private var hasGainMap = false

    /// - Throws: `truncated` when the data ends before the frame header, `corrupt` without a frame header.
    init(header bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        var walk = JPEGMarkerWalk(bytes)
        try self.init(&walk)
    }

    /// Walks to the first scan or the end marker.
    init(_ walk: inout JPEGMarkerWalk) throws(ImagingError) {
        let bytes = walk.bytes
        while let segment = try walk.next(), !segment.endsHeader {
            if segment.isFrameHeader {
                try readFrameHeader(segment.marker, bytes.part(segment.body))
            } else if segment.marker == 0xE1 {
                readApplication(bytes.part(segment.body))
            } else if segment.marker == 0xE2, bytes.part(segment.body).holds(JPEGStructure.gainMapMarker, at: 0) {
                hasGainMap = true
            }
        }
        hasImpossibleLength = walk.hasImpossibleLength
        guard components > 0 else {
            if walk.position >= bytes.count { throw .truncated(.jpeg) }
            throw .corrupt(.jpeg, reason: "no frame header")
        }
    }

    private mutating func readApplication(_ body: UnsafeRawBufferPointer) {
        if blocks.exif == nil, body.holds("Exif\0\0", at: 0) {
            blocks.exif = body
        } else if blocks.xmp == nil, body.holds(JPEGStructure.xmpMarker, at: 0) {
            blocks.xmp = body.part(JPEGStructure.xmpMarker.utf8CodeUnitCount..<body.count)
            hasGainMap = hasGainMap || body.contains(JPEGStructure.gainMapNamespace)
        }
    }

    var info: ImageInfo {
        ImageInfo(
            format: .jpeg, stored: size, orientation: blocks.orientation,
            colorModel: components == 1 ? .gray : components == 4 ? .cmyk : .rgb, bitDepth: bitDepth)
    }

    func plan(_ options: DecodeOptions) throws(ImagingError) -> DecodePlan {
        try DecodePlan(
            options, source: size, orientation: blocks.orientation, bytesPerPixel: components == 1 ? 1 : 3)
    }

    var warnings: [ImageWarning] { hasImpossibleLength ? [.impossibleSegmentLength] : [] }

    var warningsOfDecoding: [ImageWarning] { warnings + (hasGainMap ? [.gainMapLost] : []) }

    /// The identifier that precedes XMP in its segment.
    static let xmpMarker: StaticString = "http://ns.adobe.com/xap/1.0/\0"

    private static let gainMapMarker: StaticString = "urn:iso:std:iso:ts:21496:-1\0"
    private static let gainMapNamespace: StaticString = "http://ns.adobe.com/hdr-gain-map/1.0/"

    /// Returns the number of scans, as far as the bytes reach.
    static func scans(in bytes: UnsafeRawBufferPointer) throws(ImagingError) -> Int {
        var walk = JPEGMarkerWalk(bytes)
        var scans = 0
        while let segment = try walk.next(), segment.marker != 0xD9 {
            if segment.marker == 0xDA { scans += 1 }
        }
        return scans
    }

    /// Returns the embedded profile; nil when there is none, or one of its chunks is missing.
    static func iccProfile(in bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8]? {
        var walk = JPEGMarkerWalk(bytes)
        var chunks: [Int: Range<Int>] = [:]
        var count = 0
        while let segment = try walk.next(), !segment.endsHeader {
            let start = segment.body.lowerBound
            guard segment.marker == 0xE2, segment.body.count > 14, bytes.holds("ICC_PROFILE\0", at: start) else {
                continue
            }
            count = Int(bytes[start + 13])
            if chunks[Int(bytes[start + 12])] == nil { chunks[Int(bytes[start + 12])] = segment.body.dropFirst(14) }
        }
        let ordered = (0..<count).compactMap { chunks[$0 + 1] }
        return ordered.isEmpty || ordered.count < count ? nil : ordered.flatMap { bytes[$0] }
    }

    private mutating func readFrameHeader(_ marker: UInt8, _ body: UnsafeRawBufferPointer) throws(ImagingError) {
        guard components == 0 else { return }
        guard body.count >= 6 else { throw .corrupt(.jpeg, reason: "a short frame header") }
        frameMarker = marker
        bitDepth = Int(body[0])
        size = PixelSize(width: body.bigEndian16(at: 3) ?? 0, height: body.bigEndian16(at: 1) ?? 0)
        components = Int(body[5])
        if size.width == 0 || size.height == 0 { throw .corrupt(.jpeg, reason: "an empty picture") }
        if components == 0 || body.count < 6 + 3 * components {
            throw .corrupt(.jpeg, reason: "a short frame header")
        }
        // Every kind of JPEG has 2 to 16 bits a sample.
        guard (2...16).contains(bitDepth) else { throw .corrupt(.jpeg, reason: "\(bitDepth) bits a sample") }
        countCoefficients(body)
    }

    var isProgressive: Bool { frameMarker & 3 == 2 }

    /// The feature that libjpeg-turbo cannot decode; nil for a picture that it can.
    var undecodable: String? {
        switch frameMarker {
        case 0xC3, 0xCB: "lossless compression"
        case 0xC5...0xC7, 0xCD...0xCF: "hierarchical compression"
        default: bitDepth == 8 ? nil : "\(bitDepth) bits a sample"
        }
    }

    /// Counts whole blocks in whole MCUs, by the sampling factors of each component.
    private mutating func countCoefficients(_ header: UnsafeRawBufferPointer) {
        var (widest, tallest, blocks) = (1, 1, 0)
        for component in 0..<components {
            let factors = Int(header[7 + 3 * component])
            widest = max(widest, factors >> 4)
            tallest = max(tallest, factors & 15)
            blocks += (factors >> 4) * (factors & 15)
        }
        let across = (size.width + 8 * widest - 1) / (8 * widest)
        let down = (size.height + 8 * tallest - 1) / (8 * tallest)
        coefficients = across * down * blocks * 64
    }
}

/// Walks the markers of a JPEG and skips segments and the coded data of scans.
struct JPEGMarkerWalk {
    struct Segment {
        var marker: UInt8
        /// The place of the segment's content; empty for markers without a length.
        var body: Range<Int>

        /// SOF0 to SOF15, without DHT, JPG and DAC, whose codes lie in that range.
        var isFrameHeader: Bool {
            (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
        }

        /// Whether a scan begins or the file ends.
        var endsHeader: Bool { marker == 0xDA || marker == 0xD9 }
    }

    let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    private var passage: ReadPassage
    /// The marker of the last segment; 0 before the first and at the end of the bytes.
    private var marker: UInt8 = 0
    /// Whether a comment or application segment stated a length below 2, which other decoders accept.
    private(set) var hasImpossibleLength = false

    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) {
        self.bytes = bytes
        self.passage = passage
    }

    /// Returns the next marker; nil at the end of the bytes. Restart markers and stray bytes are skipped.
    ///
    /// - Throws: `truncated` when a segment reaches past the end, `corrupt` when its length is impossible.
    mutating func next() throws(ImagingError) -> Segment? {
        repeat { marker = findMarker() } while marker == 0x01 || (0xD0...0xD8).contains(marker)
        if marker == 0 { return nil }
        if marker == 0xD9 { return Segment(marker: marker, body: position..<position) }
        guard let length = bytes.bigEndian16(at: position) else { throw .truncated(.jpeg) }
        if length < 2 {
            guard marker == 0xFE || (0xE0...0xEF).contains(marker) else {
                throw .corrupt(.jpeg, reason: "a segment without a length")
            }
            hasImpossibleLength = true
            position += 2
            return Segment(marker: marker, body: position..<position)
        }
        guard position + length <= bytes.count else { throw .truncated(.jpeg) }
        let body = position + 2..<position + length
        position += length
        if marker == 0xDA, let part = passage.arrived?.part(from: position), part.end < bytes.count {
            position = part.end
        }
        return Segment(marker: marker, body: body)
    }

    /// Returns the number of bytes to the end of the JPEG with which some bytes begin.
    ///
    /// - Throws: `truncated` and `corrupt`.
    static func length(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> Int {
        var walk = JPEGMarkerWalk(bytes)
        while let segment = try walk.next() {
            if segment.marker == 0xD9 { return walk.position }
        }
        throw .truncated(.jpeg)
    }

    /// Walks from the end of the header through the scans to the end marker; bytes behind that are ignored.
    ///
    /// - Throws: `truncated` when the end marker is missing, `corrupt` without a scan.
    mutating func finish() throws(ImagingError) {
        if marker == 0xD9 { throw .corrupt(.jpeg, reason: "no scan") }
        while marker != 0, let segment = try next() {
            if segment.marker == 0xD9 { return }
        }
        throw .truncated(.jpeg)
    }

    /// Finds an FF that is neither stuffing (FF 00) nor fill (FF FF), and returns the byte behind it; 0 at the end.
    private mutating func findMarker() -> UInt8 {
        guard let base = bytes.baseAddress else { return 0 }
        while position < bytes.count, let found = memchr(base + position, 0xFF, bytes.count - position) {
            var next = UnsafeRawPointer(found) - base + 1
            while next < bytes.count, bytes[next] == 0xFF { next += 1 }
            guard next < bytes.count else { break }
            position = next + 1
            passage.reach(position)
            if bytes[next] != 0 { return bytes[next] }
        }
        position = bytes.count
        return 0
    }
}

/// Finds the ends of a JPEG's scans while the file arrives, so that the check can skip their data.
///
/// It walks the markers like `JPEGMarkerWalk`, and stops where that would throw.
struct JPEGScanData {
    private enum Part {
        case data
        /// Behind one or more FF bytes, the first of which is at `start`.
        case marker(start: Int)
        case length(high: UInt8?)
        case segment(left: Int)
        /// Nothing more is read.
        case end
    }

    /// A progressive file has about ten scans. Beyond this number, scans are not recorded and the check walks them.
    private static let mostRuns = 64

    private var part = Part.data
    /// The offset of the next byte.
    private var position = 0
    private var isScanHeader = false
    /// The offset of the current scan's data.
    private var start: Int?
    /// The data of each scan, from the end of its header to the next marker that is not a restart marker.
    private var runs: [Range<Int>] = []

    mutating func read(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        var index = 0
        while index < bytes.count {
            switch part {
            case .data:
                guard let found = memchr(base + index, 0xFF, bytes.count - index) else {
                    index = bytes.count
                    continue
                }
                index = UnsafeRawPointer(found) - base + 1
                // Most are stuffing: one in 256 bytes of coded data.
                if index < bytes.count, bytes[index] == 0 {
                    index += 1
                } else {
                    part = .marker(start: position + index - 1)
                }
            case .marker(let start):
                proceed(behind: bytes[index], start: start)
                index += 1
            case .length(nil):
                part = .length(high: bytes[index])
                index += 1
            case .length(let high?):
                let length = Int(high) << 8 | Int(bytes[index])
                index += 1
                part = length < 2 ? .end : .segment(left: length - 2)
                if length == 2 { beginData(at: position + index) }
            case .segment(let left):
                let count = min(left, bytes.count - index)
                index += count
                part = .segment(left: left - count)
                if count == left { beginData(at: position + index) }
            case .end: return
            }
        }
        position += bytes.count
    }

    func part(from position: Int) -> ArrivedPart? {
        runs.first { $0.lowerBound == position }.map { ArrivedPart(end: $0.upperBound, dataBytes: $0.count) }
    }

    private mutating func proceed(behind marker: UInt8, start: Int) {
        switch marker {
        case 0xFF: break
        case 0x00, 0x01, 0xD0...0xD8: part = .data
        default:
            if let begin = self.start { runs.append(begin..<start) }
            self.start = nil
            isScanHeader = marker == 0xDA
            part = marker == 0xD9 || runs.count == Self.mostRuns ? .end : .length(high: nil)
        }
    }

    private mutating func beginData(at position: Int) {
        part = .data
        start = isScanHeader ? position : nil
    }
}
