/// Where a decoder puts its rows: straight into a bitmap, or through a resampler that holds a band of them.
struct RowTarget {
    /// The whole picture, or the band.
    private var bitmap: Bitmap
    private let resampler: Resampler?
    private let rowsAtOnce: Int
    private let height: Int
    private var filled = 0

    /// The size is that of the rows that will come, the extent how much of it counts, the target what they are
    /// resampled to.
    init(
        _ size: PixelSize, extent: (width: Double, height: Double)? = nil, _ format: PixelFormat, target: PixelSize?
    ) throws(ImagingError) {
        height = size.height
        if let target, target != size {
            rowsAtOnce = max(1, min(size.height, 262_144 / max(size.width * format.bytesPerPixel, 1)))
            resampler = try Resampler(source: size, extent: extent, format: format, target: target)
            bitmap = try Bitmap(uninitialized: size.width, rowsAtOnce, format)
        } else {
            rowsAtOnce = Deadline.rowsPerLook(width: size.width)
            resampler = nil
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
        let first = resampler == nil ? filled : 0
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            try write(rows.base + first * rows.bytesPerRow, rows.bytesPerRow, count)
            guard let resampler else { return }
            for index in 0..<count { try resampler.push(rows.base + index * rows.bytesPerRow) }
        }
        filled += count
    }

    /// The picture, once full.
    var picture: Bitmap { resampler?.result ?? bitmap }
}
