/// The runs of an RLE4, an RLE8 or OS/2's 24-bit RLE, clipped to the picture.
///
/// Runs only move right and to later rows, so that no pixel is painted twice. Pixels that the runs skip are
/// transparent, as in browsers.
struct BMPRuns {
    /// Pixels that follow each other in one row.
    struct Run {
        var x, count: Int
        /// The number of the row as stored.
        var row: Int
        /// The offset of the first colour or index.
        var source: Int
        /// Whether the colour repeats; of RLE4, two colours take turns.
        var repeats: Bool
    }

    private let header: BMPHeader
    private var position: Int
    private var x = 0
    private var row = 0

    private init(_ header: BMPHeader) {
        self.header = header
        position = header.data
    }

    private var bytes: UnsafeRawBufferPointer { header.bytes }

    /// Walks the runs without painting them. Returns whether they paint every pixel, and the offset behind the last one,
    /// where the end mark may stand.
    ///
    /// - Throws: `truncated` when the bytes end before the end mark and before the last pixel, `corrupt` for a run
    ///   behind the last row.
    static func walk(_ header: BMPHeader) throws(ImagingError) -> (isWhole: Bool, end: Int) {
        var runs = BMPRuns(header)
        var pace = Pace()
        let (pixels, overflow) = header.size.width.multipliedReportingOverflow(by: header.size.height)
        var painted = 0
        while overflow || painted < pixels {
            guard let run = try runs.next(&pace) else { return (false, runs.position) }
            painted += run.count
        }
        return (true, runs.position)
    }

    /// Paints the runs onto a bitmap of zeros.
    static func paint(_ header: BMPHeader, _ palette: BMPPalette, onto bitmap: inout Bitmap) throws(ImagingError) {
        let writer = BMPPixelWriter(format: bitmap.format)
        let step = bitmap.format.bytesPerPixel
        let pixels = header.size.width * header.size.height
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            var runs = BMPRuns(header)
            var pace = Pace()
            var painted = 0
            while painted < pixels, let run = try runs.next(&pace) {
                let target = rows.row(header.isTopDown ? run.row : header.size.height - 1 - run.row) + run.x * step
                for index in 0..<run.count {
                    writer.put(runs.color(run, index, palette), target + index * step)
                }
                painted += run.count
            }
        }
    }

    @inline(__always)
    private func color(_ run: Run, _ index: Int, _ palette: BMPPalette) -> UInt32 {
        switch header.depth {
        case 4:
            let byte = bytes[run.source + (run.repeats ? 0 : index / 2)]
            return palette.colors[Int(index & 1 == 0 ? byte >> 4 : byte & 15)]
        case 8: return palette.colors[Int(bytes[run.source + (run.repeats ? 0 : index)])]
        default:
            let place = run.source + (run.repeats ? 0 : index * 3)
            return 0xFF00_0000 | UInt32(bytes[place]) << 16 | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2])
        }
    }

    /// Returns the next run that paints a pixel; nil at the end mark.
    private mutating func next(_ pace: inout Pace) throws(ImagingError) -> Run? {
        while true {
            guard position + 2 <= bytes.count else { throw .truncated(header.container) }
            let (count, value) = (Int(bytes[position]), Int(bytes[position + 1]))
            try pace.advance(16 + count)
            switch (count, value) {
            case (0, 0):
                position += 2
                (x, row) = (0, row + 1)
            case (0, 1): return nil
            case (0, 2):
                guard position + 4 <= bytes.count else { throw .truncated(header.container) }
                x += Int(bytes[position + 2])
                row += Int(bytes[position + 3])
                position += 4
            case (0, _):
                let length = (value * header.depth + 7) / 8
                let source = position + 2
                // Literal pixels are padded to 16 bits.
                position = source + (length + 1) / 2 * 2
                guard source + length <= bytes.count else { throw .truncated(header.container) }
                if let run = try clip(value, source: source, repeats: false) { return run }
            default:
                let source = position + 1
                position = source + (header.depth == 24 ? 3 : 1)
                guard position <= bytes.count else { throw .truncated(header.container) }
                if let run = try clip(count, source: source, repeats: true) { return run }
            }
        }
    }

    /// Moves past pixels and returns the part of them inside the row; nil when there is none.
    private mutating func clip(_ count: Int, source: Int, repeats: Bool) throws(ImagingError) -> Run? {
        guard row < header.size.height else { throw .corrupt(header.container, reason: "a run behind the last row") }
        let visible = min(count, header.size.width - x)
        defer { x += count }
        return visible > 0 ? Run(x: x, count: visible, row: row, source: source, repeats: repeats) : nil
    }
}
