import CImageCodecs

/// Decodes GIF: composites every frame onto the canvas, with all disposal methods.
enum GIFDecoder {
    static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange? = nil
    ) throws(ImagingError) -> Image {
        let structure = try GIFStructure(bytes)
        let wanted = options.firstFrameOnly ? min(structure.frames, 1) : structure.frames
        try options.limits.check(structure.size, frames: max(wanted, 1))
        var warnings: [ImageWarning] = []
        do throws(ImagingError) {
            warnings = try structure.check()
        } catch {
            try Tolerance.forgive(error)
        }
        var frames = try FrameCollector(options, canvas: structure.size, count: wanted, change: change)
        var reader = try GIFReader(bytes)
        var canvas = try Bitmap(width: structure.size.width, height: structure.size.height, format: .rgba)
        while frames.frames.count < wanted, let frame = try reader.next(isFirst: frames.frames.isEmpty) {
            try options.limits.check(PixelSize(width: frame.width, height: frame.height))
            let before = frame.disposal == 3 ? canvas : nil
            do throws(ImagingError) {
                try draw(frame, from: &reader, onto: &canvas)
            } catch {
                try Tolerance.forgive(error)
            }
            try frames.add(canvas, delay: delay(frame.delay))
            try ImageCodecs.checkTime()
            if let before {
                canvas = before
            } else if frame.disposal == 2 {
                try canvas.clear(left: frame.left, top: frame.top, width: frame.width, height: frame.height)
            }
        }
        return try frames.image(.gif, loopCount: structure.loopCount, warnings: warnings)
    }

    /// Kingfisher's rule: a delay of at most 10 ms, which screens cannot show, becomes 100 ms.
    private static func delay(_ hundredths: Int) -> Duration {
        hundredths <= 1 ? .milliseconds(100) : .milliseconds(hundredths * 10)
    }

    private static func draw(
        _ frame: GIFReader.Frame, from reader: inout GIFReader, onto canvas: inout Bitmap
    ) throws(ImagingError) {
        guard frame.width > 0, frame.height > 0 else { return }
        let step = Tolerance.isInForce ? 1 : min(frame.height, max(1, 65_536 / frame.width))
        let band = try Scratch.take(UInt8.self, frame.width * step)
        defer { Scratch.give(band) }
        // The first row of each pass, and the distance to the next one.
        let passes = frame.isInterlaced ? [(0, 8), (4, 8), (2, 4), (1, 2)] : [(0, 1)]
        for (first, distance) in passes {
            for y in stride(from: first, to: frame.height, by: step * distance) {
                let count = min(step, (frame.height - y + distance - 1) / distance)
                try reader.read(band, width: frame.width, count: count)
                try canvas.withUnsafeMutableRows { (rows) throws(ImagingError) in
                    for index in 0..<count {
                        paint(band + index * frame.width, frame, row: frame.top + y + index * distance, rows)
                    }
                }
                try ImageCodecs.checkTime()
            }
        }
    }

    /// Paints one row of indices, clipped to the canvas.
    private static func paint(
        _ indexes: UnsafePointer<UInt8>, _ frame: GIFReader.Frame, row: Int, _ canvas: MutableBitmapRows
    ) {
        guard row < canvas.height else { return }
        let visible = min(frame.width, canvas.width - frame.left)
        guard visible > 0 else { return }
        frame.palette.withUnsafeBufferPointer { palette in
            let target = canvas.pixels(row) + frame.left
            for x in 0..<visible {
                let color = palette[Int(indexes[x])]
                if color != 0 { target[x] = color }
            }
        }
    }
}

/// Reads frames and their rows of palette indices from a GIF.
struct GIFReader: ~Copyable {
    struct Frame {
        var left, top, width, height: Int
        var isInterlaced: Bool
        var disposal = 0
        /// The delay in hundredths of a second.
        var delay = 0
        /// 256 RGBA colours; the transparent one and undefined ones are 0.
        var palette: [UInt32]
    }

    private let bytes: UnsafeRawBufferPointer
    private let globalTable: Range<Int>?
    private var position: Int
    /// The LZW decoder of the current frame.
    private var codes: OpaquePointer?

    /// The bytes must stay in place for the lifetime of the reader.
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

    /// Returns the next frame's header; nil at the end, which is at the first fault if another frame came before it and
    /// damage is tolerated.
    mutating func next(isFirst: Bool) throws(ImagingError) -> Frame? {
        do throws(ImagingError) {
            return try next()
        } catch {
            if isFirst { throw error }
            try Tolerance.forgive(error)
            return nil
        }
    }

    /// Returns the next frame's header; nil at the trailer, at bytes that are not a block, and when the bytes end between two
    /// blocks.
    private mutating func next() throws(ImagingError) -> Frame? {
        var control = Control()
        while position < bytes.count {
            switch bytes[position] {
            case 0x00: position += 1
            case 0x21:
                control.read(bytes, at: position)
                guard let end = GIFStructure.skipBlocks(bytes, from: position + 2) else { throw .truncated(.gif) }
                position = end
            case 0x2C: return try readFrame(control)
            default: return nil
            }
        }
        return nil
    }

    /// Reads the next rows of the frame, one byte a pixel, without padding.
    mutating func read(_ indexes: UnsafeMutablePointer<UInt8>, width: Int, count: Int) throws(ImagingError) {
        switch kf_lzw_read(codes, indexes, width * count) {
        case KF_OK: return
        case KF_TRUNCATED: throw .truncated(.gif)
        default: throw .corrupt(.gif, reason: "an undefined code")
        }
    }

    /// The graphic control extension in front of a frame.
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
            throw .corrupt(.gif, reason: "an invalid code size")
        }
        kf_lzw_destroy(codes)
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        codes = kf_lzw_create(start.map { $0 + data }, bytes.count - data, codeSize)
        if codes == nil { throw .outOfMemory(bytes: 1 << 15) }
        let end = GIFStructure.skipBlocks(bytes, from: data)
        if end == nil { try Tolerance.forgive(.truncated(.gif)) }
        position = end ?? bytes.count
        return Frame(
            left: left, top: top, width: width, height: height, isInterlaced: flags & 0x40 != 0,
            disposal: control.disposal, delay: control.delay,
            palette: palette(table.isEmpty ? globalTable : table, transparent: control.transparent))
    }

    private func palette(_ table: Range<Int>?, transparent: Int?) -> [UInt32] {
        var palette = [UInt32](repeating: 0, count: 256)
        if let table {
            for (index, place) in stride(from: table.lowerBound, to: table.upperBound, by: 3).enumerated() {
                let color = UInt32(clamping: bytes.littleEndian24(at: place) ?? 0)
                palette[index] = UInt32(littleEndian: color | 0xFF00_0000)
            }
        } else {
            // The format leaves the colours to the decoder; most decoders use a grey ramp.
            for index in 0..<256 {
                palette[index] = UInt32(littleEndian: UInt32(clamping: index) * 0x01_0101 | 0xFF00_0000)
            }
        }
        if let transparent { palette[transparent] = 0 }
        return palette
    }
}
