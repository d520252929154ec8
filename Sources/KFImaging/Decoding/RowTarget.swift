/// Where a decoder puts its rows: straight into a bitmap, or through resamplers that share a band of them.
struct RowTarget {
    /// The whole picture, or the band.
    private var bitmap: Bitmap
    /// One for each result; nil gives the rows as they come. Without any, the rows are thrown away.
    private let resamplers: [Resampler?]
    private let isBand: Bool
    private let rowsAtOnce: Int
    private let height: Int
    private var filled = 0

    /// The size is that of the rows that will come, the extent how much of it counts, the targets what they are
    /// resampled to, with the sharpening of `LanczosWeights`.
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
            rowsAtOnce = max(1, min(size.height, 262_144 / max(size.width * format.bytesPerPixel, 1)))
            bitmap = try Bitmap(uninitialized: size.width, rowsAtOnce, format)
        } else {
            rowsAtOnce = Deadline.rowsPerLook(width: size.width)
            bitmap = try Bitmap(uninitialized: size.width, size.height, format)
        }
    }

    /// Whether every row has come.
    var isFull: Bool { filled == height }

    /// Lets the next rows be written: the first one's address, the distance between them, how many.
    mutating func take(
        _ write: (UnsafeMutableRawPointer, Int, Int) throws(ImagingError) -> Void
    ) throws(ImagingError) {
        let count = min(rowsAtOnce, height - filled)
        let first = isBand ? 0 : filled
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            let base = rows.base + first * rows.bytesPerRow
            try write(base, rows.bytesPerRow, count)
            for case let resampler? in resamplers {
                for index in 0..<count { try resampler.push(base + index * rows.bytesPerRow) }
            }
        }
        filled += count
    }

    /// The pictures, once full, in the order of the targets.
    var pictures: [Bitmap] { resamplers.map { $0?.result ?? bitmap } }
}
