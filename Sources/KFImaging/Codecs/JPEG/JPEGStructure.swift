import Glibc

/// The segments of a JPEG, read without decoding.
struct JPEGStructure {
    var width = 0
    var height = 0
    var components = 0
    var bitDepth = 8
    private var exifOrientation: Orientation?
    private var xmpOrientation: Orientation?
    /// The places of the ICC profile's chunks, in the order of their numbers.
    var profile: [Range<Int>] = []
    private(set) var isProgressive = false
    private(set) var warnings: [ImageWarning] = []
    /// The feature that libjpeg-turbo cannot decode; nil for a picture that it can.
    private(set) var undecodable: String?
    /// The number of coefficients of all components, in whole blocks; a decoder keeps them when there are several
    /// scans.
    private(set) var coefficients = 0
    private var exif: Range<Int>?
    private var xmp: Range<Int>?

    /// Reads the segments before the first scan.
    ///
    /// - Throws: `truncated` when the data ends before the frame header, `corrupt` without a frame header.
    init(header bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        var walk = JPEGMarkerWalk(bytes)
        var chunks: [Int: Range<Int>] = [:]
        var chunkCount = 0
        while let segment = try walk.next() {
            if segment.isFrameHeader {
                try readFrameHeader(segment.marker, UnsafeRawBufferPointer(rebasing: bytes[segment.body]))
            } else if segment.marker == 0xDA || segment.marker == 0xD9 {
                break
            } else if segment.marker == 0xE1 {
                readApplication(bytes, segment.body)
            } else if segment.marker == 0xE2, segment.body.count > 14,
                bytes.holds("ICC_PROFILE\0", at: segment.body.lowerBound)
            {
                let number = Int(bytes[segment.body.lowerBound + 12])
                chunkCount = Int(bytes[segment.body.lowerBound + 13])
                if chunks[number] == nil { chunks[number] = segment.body.dropFirst(14) }
            }
        }
        if walk.hasImpossibleLength { warnings.append(.impossibleSegmentLength) }
        guard components > 0 else {
            if walk.position >= bytes.count { throw .truncated(.jpeg) }
            throw .corrupt(.jpeg, reason: "no frame header")
        }
        // A profile with a missing chunk is unusable.
        let ordered = (0..<chunkCount).compactMap { chunks[$0 + 1] }
        if ordered.count == chunkCount { profile = ordered }
    }

    private mutating func readApplication(_ bytes: UnsafeRawBufferPointer, _ body: Range<Int>) {
        if exif == nil, bytes.holds("Exif\0\0", at: body.lowerBound) {
            exif = body
            exifOrientation = ExifOrientation.read(UnsafeRawBufferPointer(rebasing: bytes[body]))
        } else if xmp == nil, bytes.holds(JPEGStructure.xmpMarker, at: body.lowerBound) {
            let packet = body.dropFirst(JPEGStructure.xmpMarker.utf8.count)
            xmp = packet
            xmpOrientation = XMPOrientation.read(UnsafeRawBufferPointer(rebasing: bytes[packet]))
        }
    }

    /// The orientation from EXIF, else from XMP.
    var orientation: Orientation { exifOrientation ?? xmpOrientation ?? .upright }

    /// The identifier that precedes XMP in its segment.
    static let xmpMarker = "http://ns.adobe.com/xap/1.0/\0"

    func metadata(in bytes: UnsafeRawBufferPointer) -> ImageMetadata? {
        ImageMetadata(
            exif: exif.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) },
            xmp: xmp.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
    }

    /// Returns the number of scans, as far as the bytes reach.
    static func scans(in bytes: UnsafeRawBufferPointer) throws(ImagingError) -> Int {
        var walk = JPEGMarkerWalk(bytes)
        var scans = 0
        while let segment = try walk.next(), segment.marker != 0xD9 {
            if segment.marker == 0xDA { scans += 1 }
        }
        return scans
    }

    /// The embedded profile; nil when there is none or it is incomplete.
    func iccProfile(in bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        profile.isEmpty ? nil : profile.flatMap { bytes[$0] }
    }

    private mutating func readFrameHeader(
        _ marker: UInt8, _ body: UnsafeRawBufferPointer
    ) throws(ImagingError) {
        guard components == 0 else { return }
        isProgressive = marker & 3 == 2
        guard body.count >= 6 else { throw .corrupt(.jpeg, reason: "a short frame header") }
        bitDepth = Int(body[0])
        height = body.bigEndian16(at: 1) ?? 0
        width = body.bigEndian16(at: 3) ?? 0
        components = Int(body[5])
        if width == 0 || height == 0 { throw .corrupt(.jpeg, reason: "an empty picture") }
        if components == 0 || body.count < 6 + 3 * components {
            throw .corrupt(.jpeg, reason: "a short frame header")
        }
        // Every kind of JPEG has 2 to 16 bits a sample.
        guard (2...16).contains(bitDepth) else { throw .corrupt(.jpeg, reason: "\(bitDepth) bits a sample") }
        undecodable = JPEGStructure.undecodable(marker, bitDepth)
        coefficients = countCoefficients(body)
    }

    private static func undecodable(_ marker: UInt8, _ bitDepth: Int) -> String? {
        switch marker {
        case 0xC3, 0xCB: "lossless compression"
        case 0xC5...0xC7, 0xCD...0xCF: "hierarchical compression"
        default: bitDepth == 8 ? nil : "\(bitDepth) bits a sample"
        }
    }

    /// Counts whole blocks in whole MCUs, by the sampling factors of each component.
    private func countCoefficients(_ header: UnsafeRawBufferPointer) -> Int {
        let factors = (0..<components).map { header[7 + 3 * $0] }
        let widest = max(1, factors.map { Int($0 >> 4) }.max() ?? 1)
        let tallest = max(1, factors.map { Int($0 & 15) }.max() ?? 1)
        let across = (width + 8 * widest - 1) / (8 * widest)
        let down = (height + 8 * tallest - 1) / (8 * tallest)
        let blocks = factors.reduce(0) { $0 + Int($1 >> 4) * Int($1 & 15) }
        return across * down * blocks * 64
    }

    /// Walks every marker through the scans to the end marker; bytes behind that are ignored.
    ///
    /// - Throws: `truncated` when the end marker is missing, `corrupt` without a frame header or a scan.
    static func check(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent
    ) throws(ImagingError) -> [ImageWarning] {
        _ = try JPEGStructure(header: bytes)
        var walk = JPEGMarkerWalk(bytes, passage: passage)
        var scans = 0
        while let segment = try walk.next() {
            if segment.marker == 0xD9 {
                if scans == 0 { throw .corrupt(.jpeg, reason: "no scan") }
                return walk.hasImpossibleLength ? [.impossibleSegmentLength] : []
            }
            if segment.marker == 0xDA { scans += 1 }
        }
        throw .truncated(.jpeg)
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
    }

    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    private var passage: ReadPassage
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
        while let marker = findMarker() {
            switch marker {
            case 0x01, 0xD0...0xD8: continue
            case 0xD9: return Segment(marker: marker, body: position..<position)
            default:
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
        }
        return nil
    }

    /// Finds an FF that is neither stuffing (FF 00) nor fill (FF FF).
    private mutating func findMarker() -> UInt8? {
        guard let base = bytes.baseAddress else { return nil }
        while position < bytes.count {
            guard let found = memchr(base + position, 0xFF, bytes.count - position) else { break }
            var next = UnsafeRawPointer(found) - base + 1
            while next < bytes.count, bytes[next] == 0xFF { next += 1 }
            guard next < bytes.count else { break }
            position = next + 1
            passage.reach(position)
            if bytes[next] != 0 { return bytes[next] }
        }
        position = bytes.count
        return nil
    }
}

/// Finds the ends of a JPEG's scans while the file arrives, so that the check can skip their data.
///
/// It walks the markers like `JPEGMarkerWalk`, and stops where that would throw.
struct JPEGScanData: ArrivalReader {
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
                index = UnsafeRawPointer(found) - base
                part = .marker(start: position + index)
                index += 1
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
