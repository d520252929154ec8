import CImageCodecs

/// Verifies the checksums of a PNG's image data while the file arrives, so that the probe and the check can skip the
/// data.
struct PNGImageData {
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

    /// The run of image data that begins at `position`; nil when it was not read, or is damaged.
    func part(from position: Int) -> ArrivedPart? {
        guard let run, run.lowerBound == position else { return nil }
        return ArrivedPart(end: run.upperBound, dataBytes: dataBytes)
    }

    /// "IDAT".
    private static let imageData: UInt64 = 0x4944_4154

    /// The checksum covers the chunk's name first.
    private static let checksumOfName: UInt32 = 0x35AF_061E
}
