/// The size, depth and number of frames of AV1 data, read from its own headers: the boxes of an AVIF may state others.
struct AV1Stream: Equatable {
    /// The pixels of the largest sequence header, with both sides padded to 128 as dav1d does.
    private(set) var pixels = 0
    /// The bytes of the samples of each four pixels.
    private(set) var bytesOfFour = 0
    private(set) var frames = 0
    /// The OBUs (open bitstream units) in the data.
    private(set) var units = 0

    /// Reads the headers of the OBUs, at most `most` of them. Data that is damaged is read up to there.
    init(_ data: UnsafeRawBufferPointer, most: Int) {
        var position = 0
        while position < data.count, units < most {
            let header = data[position]
            position += header & 0x04 == 0 ? 1 : 2
            units += 1
            var length = data.count - position
            if header & 0x02 != 0 {
                guard let stated = AV1Stream.leb128(data, &position), position + stated <= data.count else { return }
                length = stated
            }
            guard length >= 0 else { return }
            switch header >> 3 & 0x0F {
            case 1: readSequence(UnsafeRawBufferPointer(rebasing: data[position..<position + length]))
            case 3, 6: frames += 1
            default: break
            }
            position += length
        }
    }

    /// An upper estimate of the bytes that dav1d holds: the samples, and half a byte a pixel about blocks and filters.
    var bytes: Int { pixels > 1 << 40 ? 1 << 50 : (bytesOfFour + 2) * pixels / 4 }

    private static func leb128(_ data: UnsafeRawBufferPointer, _ position: inout Int) -> Int? {
        var value = 0
        for index in 0..<8 {
            guard position < data.count else { return nil }
            let byte = data[position]
            position += 1
            value |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return value <= Int(UInt32.max) ? value : nil }
        }
        return nil
    }

    private mutating func readSequence(_ data: UnsafeRawBufferPointer) {
        var bits = BitCursor(data)
        let header = AV1Sequence(&bits)
        guard !bits.isBehindEnd else { return }
        pixels = max(pixels, (header.width + 127) * (header.height + 127))
        bytesOfFour = max(bytesOfFour, header.samplesOfFour * (header.bitDepth > 8 ? 2 : 1))
    }
}

extension [AV1Stream] {
    /// The pixels of all, none of which counts with more than 2⁴⁰.
    var pixels: Int { reduce(0) { $0 + Swift.min($1.pixels, 1 << 40) } }
    /// The bytes of all, no more than 2⁵¹.
    var bytes: Int { reduce(0) { Swift.min($0, 1 << 50) + $1.bytes } }
}

/// The fields of an AV1 sequence header (AV1 specification, 5.5) that decide how much memory a picture takes.
private struct AV1Sequence {
    private(set) var width = 0
    private(set) var height = 0
    private(set) var bitDepth = 8
    /// The samples of luma and chroma for each four pixels.
    private(set) var samplesOfFour = 12

    init(_ bits: inout BitCursor) {
        let profile = bits.read(3)
        bits.skip(1)
        let isReduced = bits.flag()
        if isReduced { bits.skip(5) } else { AV1Sequence.skipOperatingPoints(&bits) }
        let (widthBits, heightBits) = (bits.read(4) + 1, bits.read(4) + 1)
        width = bits.read(widthBits) + 1
        height = bits.read(heightBits) + 1
        // Frame identifiers.
        if !isReduced, bits.flag() { bits.skip(7) }
        bits.skip(3)
        if !isReduced { AV1Sequence.skipTools(&bits) }
        bits.skip(3)
        readColor(&bits, profile)
    }

    private static func skipOperatingPoints(_ bits: inout BitCursor) {
        var delayBits: Int?
        if bits.flag() {
            bits.skip(64)
            if bits.flag() { bits.skipVariableLength() }
            if bits.flag() {
                delayBits = bits.read(5) + 1
                bits.skip(42)
            }
        }
        let hasDisplayDelay = bits.flag()
        for _ in 0...bits.read(5) {
            bits.skip(12)
            if bits.read(5) > 7 { bits.skip(1) }
            if let delayBits, bits.flag() { bits.skip(2 * delayBits + 1) }
            if hasDisplayDelay, bits.flag() { bits.skip(4) }
        }
    }

    private static func skipTools(_ bits: inout BitCursor) {
        bits.skip(4)
        let hasOrderHint = bits.flag()
        if hasOrderHint { bits.skip(2) }
        let mayUseScreenTools = bits.flag() || bits.flag()
        if mayUseScreenTools, !bits.flag() { bits.skip(1) }
        if hasOrderHint { bits.skip(3) }
    }

    private mutating func readColor(_ bits: inout BitCursor, _ profile: Int) {
        let isDeep = bits.flag()
        bitDepth = !isDeep ? 8 : profile == 2 && bits.flag() ? 12 : 10
        let isGray = profile != 1 && bits.flag()
        var isIdentity = false
        if bits.flag() { isIdentity = (bits.read(8), bits.read(8), bits.read(8)) == (1, 13, 0) }
        if isGray {
            samplesOfFour = 4
        } else if isIdentity || profile == 1 {
            samplesOfFour = 12
        } else if profile == 0 {
            samplesOfFour = 6
        } else {
            // 4:2:2, unless 12 bits state another subsampling: taken as none.
            samplesOfFour = bitDepth == 12 ? 12 : 8
        }
    }
}

/// Reads bits, the highest of each byte first. Those behind the end are 0.
private struct BitCursor {
    private let data: UnsafeRawBufferPointer
    private var position = 0

    init(_ data: UnsafeRawBufferPointer) { self.data = data }

    var isBehindEnd: Bool { position > data.count * 8 }

    mutating func read(_ count: Int) -> Int {
        var value = 0
        for _ in 0..<count {
            let byte = position >> 3
            value = value << 1 | (byte < data.count ? Int(data[byte] >> (7 - position & 7)) & 1 : 0)
            position += 1
        }
        return value
    }

    mutating func flag() -> Bool { read(1) == 1 }

    mutating func skip(_ count: Int) { position += count }

    /// Skips a number whose leading zeros state its length.
    mutating func skipVariableLength() {
        var zeros = 0
        while zeros < 32, !isBehindEnd, !flag() { zeros += 1 }
        skip(zeros)
    }
}
