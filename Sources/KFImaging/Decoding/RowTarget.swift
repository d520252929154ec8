/// The destination of decoded rows: a bitmap, or a band of rows that resamplers share.
struct RowTarget {
    /// The whole picture, or a band of rows.
    private var bitmap: Bitmap
    /// A resampler for each result; nil for a result of the decoded size. Without results the rows are discarded.
    private let resamplers: [Resampler?]
    private let isBand: Bool
    private let rowsAtOnce: Int
    private let height: Int

    /// `size` is the decoded size, `extent` the part of it that counts, and `targets` are the sizes of the results.
    ///
    /// `sharpening` is explained at `LanczosWeights`.
    init(
        _ size: PixelSize, extent: (width: Double, height: Double)? = nil, _ format: PixelFormat,
        targets: [PixelSize?], sharpening: Double = 0
    ) throws(ImagingError) {
        height = size.height
        var resamplers: [Resampler?] = []
        for target in targets {
            guard let target, target != size else {
                resamplers.append(nil)
                continue
            }
            resamplers.append(
                try Resampler(source: size, extent: extent, format: format, target: target, sharpening: sharpening))
        }
        self.resamplers = resamplers
        isBand = !resamplers.contains { $0 == nil }
        if isBand {
            // Resamplers take eight rows at a time.
            rowsAtOnce = min(size.height, max(8, 262_144 / max(size.width * format.bytesPerPixel, 1)))
            bitmap = try Bitmap(uninitialized: size.width, rowsAtOnce, format)
        } else {
            rowsAtOnce = Deadline.rowsPerLook(width: size.width)
            bitmap = try Bitmap(uninitialized: size.width, size.height, format)
        }
    }

    /// Calls `write` with (address of the first row, distance between rows, count) for some rows at a time, until all
    /// are written, and returns the results in the order of the targets. The clock is checked between the calls.
    mutating func fill(
        _ write: (UnsafeMutableRawPointer, Int, Int) throws(ImagingError) -> Void
    ) throws(ImagingError) -> [Bitmap] {
        for filled in stride(from: 0, to: height, by: rowsAtOnce) {
            let count = min(rowsAtOnce, height - filled)
            try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                let base = rows.base + (isBand ? 0 : filled) * rows.bytesPerRow
                try write(base, rows.bytesPerRow, count)
                for case let resampler? in resamplers {
                    try resampler.push(base, bytesPerRow: rows.bytesPerRow, count: count)
                }
            }
            try ImageCodecs.checkTime()
        }
        return resamplers.map { $0?.result ?? bitmap }
    }
}
