import CImageCodecs
import Glibc

/// Figures of a picture, computed from the luma of its pixels.
package struct PictureMeasures: Sendable {
    /// The information of a pixel's luma, in bits, from 0 to 8.
    package let entropy: Double
    /// The average luma, from 0 to 255.
    package let mean: Double
    /// The variance of the Laplacian.
    package let sharpness: Double

    /// Computes the figures of a grey picture of at most 256 pixels a side.
    init(of luma: Bitmap) {
        let (width, height, count) = (luma.width, luma.height, Double(luma.width * luma.height))
        var counts = [Int](repeating: 0, count: 256)
        var (sum, squares) = (0, 0)
        luma.withUnsafeRows { rows in
            counts.withUnsafeMutableBufferPointer { counts in
                for y in 0..<height {
                    // A neighbour outside the picture is the one on the other side.
                    let row = rows.row(y)
                    let above = rows.row(y > 0 ? y - 1 : min(1, height - 1))
                    let below = rows.row(y < height - 1 ? y + 1 : max(0, height - 2))
                    for x in 0..<width { counts[Int(row[x])] &+= 1 }
                    // The squares of 256 values of at most 1020 fit into 32 bits.
                    var (rowSum, rowSquares) = (Int32(0), Int32(0))
                    func add(_ x: Int, _ left: Int, _ right: Int) {
                        let sides = Int32(above[x]) &+ Int32(below[x]) &+ Int32(row[left]) &+ Int32(row[right])
                        let value = sides &- 4 &* Int32(row[x])
                        rowSum &+= value
                        rowSquares &+= value &* value
                    }
                    add(0, min(1, width - 1), min(1, width - 1))
                    for x in stride(from: 1, to: width - 1, by: 1) { add(x, x - 1, x + 1) }
                    if width > 1 { add(width - 1, width - 2, width - 2) }
                    sum += Int(rowSum)
                    squares += Int(rowSquares)
                }
            }
        }
        mean = Double(counts.enumerated().reduce(0) { $0 + $1.offset * $1.element }) / count
        entropy = counts.reduce(0) { $1 == 0 ? $0 : $0 - Double($1) / count * log2(Double($1) / count) }
        sharpness = Double(squares) / count - (Double(sum) / count) * (Double(sum) / count)
    }
}

/// The luma of a picture, of which boxes of pixels are averaged, to be measured.
///
/// Transparent pixels lie on mid grey, so that black and white drawings both keep their shape.
package struct LumaSketch {
    private let luma: Bitmap
    /// The size of the whole picture.
    private let source: PixelSize
    /// The number of its pixels, in each direction, for which a pixel of the sketch stands.
    private let scale: Int
    /// What makes up for the detail that the averages have dimmed; see `LanczosWeights`.
    private let sharpening: Double

    /// The decoded size that is enough for a hash: six pixels for each of its 9 × 8. That of a photograph then differs
    /// from the hash of all pixels in at most 2 bits.
    package static let enoughToHash = PixelSize(width: 54, height: 48)

    /// The longest side of the picture that is measured.
    private static let side = 256

    /// Returns the decoded size that is enough to measure a picture.
    package static func enoughToMeasure(_ size: PixelSize) -> PixelSize { DecodePlan.enough(for: measuredSize(size)) }

    private static func measuredSize(_ size: PixelSize) -> PixelSize {
        DownsamplingImageProcessor(width: Double(side), height: Double(side))
            .targetSize(width: size.width, height: size.height)
    }

    /// Sketches a picture that is to be hashed alone. `source` is the size that it had if a JPEG's decoder has reduced it.
    package init(toHash bitmap: Bitmap, of source: PixelSize? = nil) throws(ImagingError) {
        try self.init(bitmap, of: source ?? bitmap.size, box: Self.boxToHash(bitmap.size))
    }

    /// Sketches a picture that is to be measured, at up to four times the measured size.
    ///
    /// Averages down to the measured size itself fold fine detail back: the sharpness of a photograph grows by up to 41 %.
    /// Twice that size keeps it within 10 %.
    package init(_ bitmap: Bitmap, of source: PixelSize? = nil) throws(ImagingError) {
        let box = max(bitmap.width, bitmap.height) / (2 * Self.side)
        try self.init(bitmap, of: source ?? bitmap.size, box: max(1, box))
    }

    private init(_ bitmap: Bitmap, of source: PixelSize, box: Int) throws(ImagingError) {
        luma = try bitmap.flattened(onto: Color(red: 128, green: 128, blue: 128)).averages(box).luma()
        let reduction = [1, 2, 4, 8].first { bitmap.size == source.divided(by: $0) }
        // A limit of the memory resamples pictures to any size.
        self.source = reduction == nil ? bitmap.size : source
        scale = (reduction ?? 1) * box
        sharpening = scale == 1 ? 0 : JPEGScale.sharpening(reduction == 2 && box == 1 ? 4 : 2)
    }

    private static func boxToHash(_ size: PixelSize) -> Int {
        max(1, min(size.width / enoughToHash.width, size.height / enoughToHash.height))
    }

    /// The difference hash: a bit for each two neighbours of 9 × 8 pixels, 1 where the right one is brighter. The first
    /// row is in the highest bits.
    package func dhash() throws(ImagingError) -> UInt64 {
        let box = Self.boxToHash(luma.size)
        let averages = try luma.averages(box)
        let extent = Self.extent(of: averages, source, scale * box)
        // Columns are rounded before rows are resampled, as Pillow does it: pixels that are almost equal decide alike.
        let narrow = try Resampler.resize(
            averages, extent: (extent.width, Double(averages.height)), to: PixelSize(width: 9, height: averages.height))
        let small = try Resampler.resize(narrow, extent: (9, extent.height), to: PixelSize(width: 9, height: 8))
        return small.withUnsafeRows { rows in
            (0..<64).reduce(0) { hash, place in
                let pixel = rows.row(place / 8) + place % 8
                return hash << 1 | (pixel[1] > pixel[0] ? 1 : 0)
            }
        }
    }

    /// The other figures, of the picture at its measured size.
    package func measures() throws(ImagingError) -> PictureMeasures {
        let target = Self.measuredSize(source)
        if scale == 1, luma.size == target { return PictureMeasures(of: luma) }
        let extent = Self.extent(of: luma, source, scale)
        return PictureMeasures(of: try Resampler.resize(luma, extent: extent, to: target, sharpening: sharpening))
    }

    /// The part of a reduced picture that its source fills: the last pixels may reach beyond its edge.
    private static func extent(of bitmap: Bitmap, _ source: PixelSize, _ scale: Int) -> (width: Double, height: Double)
    {
        (
            min(Double(bitmap.width), Double(source.width) / Double(scale)),
            min(Double(bitmap.height), Double(source.height) / Double(scale))
        )
    }
}

extension PixelSize {
    /// The size of a decode at one part of that many.
    fileprivate func divided(by count: Int) -> PixelSize {
        PixelSize(width: (width + count - 1) / count, height: (height + count - 1) / count)
    }
}

extension Bitmap {
    /// The luma of Rec. 601, rounded, of a grey or RGB picture with 8 bits a sample.
    fileprivate func luma() throws(ImagingError) -> Bitmap {
        guard !format.isGray else { return self }
        let count = width
        return try mapRows(to: .gray) { row, output in kf_luma_row(row, output, count) }
    }
}
