import Glibc

/// Figures of a picture, computed from the luma of its pixels.
///
/// Transparent pixels lie on mid grey, so that black and white drawings both keep their shape.
package struct PictureMeasures: Sendable {
    /// The difference hash: a bit for each two neighbours of 9 × 8 pixels, 1 where the right one is brighter. The first
    /// row is in the highest bits.
    package let dhash: UInt64
    /// The information of a pixel's luma, in bits, from 0 to 8.
    package let entropy: Double
    /// The average luma, from 0 to 255.
    package let mean: Double
    /// The variance of the Laplacian.
    package let sharpness: Double

    /// Computes the figures of a small picture.
    package init(of bitmap: Bitmap) throws(ImagingError) {
        let luma = try bitmap.luma()
        dhash = try Self.dhash(of: luma)
        let (width, height, count) = (luma.width, luma.height, Double(luma.width * luma.height))
        var counts = [Int](repeating: 0, count: 256)
        var (sum, squares) = (0, 0)
        luma.withUnsafeRows { rows in
            for y in 0..<height {
                // A neighbour outside the picture is the one on the other side.
                let row = rows.row(y)
                let above = rows.row(y > 0 ? y - 1 : min(1, height - 1))
                let below = rows.row(y < height - 1 ? y + 1 : max(0, height - 2))
                for x in 0..<width {
                    let left = row[x > 0 ? x - 1 : min(1, width - 1)]
                    let right = row[x < width - 1 ? x + 1 : max(0, width - 2)]
                    let value = Int(above[x]) + Int(below[x]) + Int(left) + Int(right) - 4 * Int(row[x])
                    counts[Int(row[x])] += 1
                    sum += value
                    squares += value * value
                }
            }
        }
        mean = Double(counts.enumerated().reduce(0) { $0 + $1.offset * $1.element }) / count
        entropy = counts.reduce(0) { $1 == 0 ? $0 : $0 - Double($1) / count * log2(Double($1) / count) }
        sharpness = Double(squares) / count - (Double(sum) / count) * (Double(sum) / count)
    }

    private static func dhash(of luma: Bitmap) throws(ImagingError) -> UInt64 {
        // Columns are rounded before rows are resampled, as Pillow does it: pixels that are almost equal decide alike.
        let narrow = try Resampler.resize(luma, to: PixelSize(width: 9, height: luma.height))
        let small = try Resampler.resize(narrow, to: PixelSize(width: 9, height: 8))
        return small.withUnsafeRows { rows in
            (0..<64).reduce(0) { hash, place in
                let pixel = rows.row(place / 8) + place % 8
                return hash << 1 | (pixel[1] > pixel[0] ? 1 : 0)
            }
        }
    }
}

extension Bitmap {
    /// The luma of Rec. 601, rounded, as grey with 8 bits.
    fileprivate func luma() throws(ImagingError) -> Bitmap {
        let opaque = try flattened(onto: Color(red: 128, green: 128, blue: 128))
        guard !opaque.format.isGray else { return opaque }
        let count = width
        return try opaque.mapRows(to: .gray) { row, output in
            for x in 0..<count {
                let (red, green, blue) = (UInt32(row[3 * x]), UInt32(row[3 * x + 1]), UInt32(row[3 * x + 2]))
                output[x] = UInt8(truncatingIfNeeded: (red * 19_595 + green * 38_470 + blue * 7_471 + 32_768) >> 16)
            }
        }
    }
}
