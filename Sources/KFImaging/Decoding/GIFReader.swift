import CImageCodecs

/// Pulls frames and their rows of palette indexes out of a GIF.
struct GIFReader: ~Copyable {
    struct Frame {
        var left, top, width, height: Int
        var isInterlaced: Bool
        var disposal = 0
        /// In hundredths of a second.
        var delay = 0
        /// 256 RGBA colours, four bytes each; the transparent one and those the file does not define are clear.
        var palette: [UInt32]
    }

    private let bytes: UnsafeRawBufferPointer
    private let globalTable: Range<Int>?
    private var position: Int
    /// Unpacks the current frame.
    private var codes: OpaquePointer?

    /// The bytes must stay where they are while the reader lives.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let end = bytes.count < 13 ? Int.max : 13 + GIFStructure.tableLength(bytes[10])
        guard end <= bytes.count else { throw .truncated(.gif) }
        self.bytes = bytes
        position = end
        globalTable = end > 13 ? 13..<end : nil
    }

    deinit {
        kf_lzw_destroy(codes)
    }

    /// The next frame's description, nil at the trailer or where the bytes end between two blocks.
    mutating func next() throws(ImagingError) -> Frame? {
        var control = Control()
        while position < bytes.count {
            switch bytes[position] {
            case 0x00: position += 1
            case 0x21:
                control.read(bytes, at: position)
                guard let end = GIFStructure.skipBlocks(bytes, from: position + 2) else { throw .truncated(.gif) }
                position = end
            case 0x2C: return try readFrame(control)
            case 0x3B: return nil
            default: throw .corrupt(.gif, reason: "an unknown block")
            }
        }
        return nil
    }

    /// Reads the next rows of the frame, one byte a pixel, without gaps.
    mutating func read(_ indexes: UnsafeMutablePointer<UInt8>, width: Int, count: Int) throws(ImagingError) {
        switch kf_lzw_read(codes, indexes, width * count) {
        case KF_OK: return
        case KF_TRUNCATED: throw .truncated(.gif)
        default: throw .corrupt(.gif, reason: "a code that no code before it defines")
        }
    }

    /// What an extension in front of a frame says about it.
    private struct Control {
        var disposal = 0
        var delay = 0
        var transparent: Int?

        mutating func read(_ bytes: UnsafeRawBufferPointer, at position: Int) {
            guard position + 8 <= bytes.count, bytes[position + 1] == 0xF9, bytes[position + 2] >= 4 else { return }
            let flags = bytes[position + 3]
            disposal = Int(flags >> 2 & 7)
            delay = bytes.littleEndian16(at: position + 4) ?? 0
            transparent = flags & 1 == 1 ? Int(bytes[position + 6]) : nil
        }
    }

    private mutating func readFrame(_ control: Control) throws(ImagingError) -> Frame {
        guard position + 10 <= bytes.count, let left = bytes.littleEndian16(at: position + 1),
            let top = bytes.littleEndian16(at: position + 3), let width = bytes.littleEndian16(at: position + 5),
            let height = bytes.littleEndian16(at: position + 7)
        else { throw .truncated(.gif) }
        let flags = bytes[position + 9]
        let table = position + 10..<position + 10 + GIFStructure.tableLength(flags)
        let data = table.upperBound + 1
        guard data <= bytes.count else { throw .truncated(.gif) }
        let codeSize = UInt32(bytes[table.upperBound])
        guard codeSize <= KF_LZW_LARGEST_SIZE else {
            throw .corrupt(.gif, reason: "codes of a size that the format does not have")
        }
        kf_lzw_destroy(codes)
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        codes = kf_lzw_create(start.map { $0 + data }, bytes.count - data, codeSize)
        if codes == nil { throw .outOfMemory(bytes: 1 << 15) }
        guard let end = GIFStructure.skipBlocks(bytes, from: data) else { throw .truncated(.gif) }
        position = end
        return Frame(
            left: left, top: top, width: width, height: height, isInterlaced: flags & 0x40 != 0,
            disposal: control.disposal, delay: control.delay,
            palette: palette(table.isEmpty ? globalTable : table, transparent: control.transparent))
    }

    private func palette(_ table: Range<Int>?, transparent: Int?) -> [UInt32] {
        var palette = [UInt32](repeating: 0, count: 256)
        if let table {
            for (index, place) in stride(from: table.lowerBound, to: table.upperBound, by: 3).enumerated() {
                let color = UInt32(bytes.littleEndian24(at: place) ?? 0)
                palette[index] = UInt32(littleEndian: color | 0xFF00_0000)
            }
        } else {
            // The format leaves it to the decoder; a ramp of greys is what most of them take.
            for index in 0..<256 { palette[index] = UInt32(littleEndian: UInt32(index) * 0x01_0101 | 0xFF00_0000) }
        }
        if let transparent { palette[transparent] = 0 }
        return palette
    }
}
