import Glibc

/// Twice a picture less the same blurred by a Gaussian, edges extended, premultiplied, rounding once at the end.
enum UnsharpMask {
    static func sharpen(_ bitmap: Bitmap, sigma: Double) throws(ImagingError) -> Bitmap {
        bitmap.format.isGray
            ? try sharpen(bitmap, sigma, as: SIMD2<Float>.self)
            : try sharpen(bitmap, sigma, as: SIMD4<Float>.self)
    }

    /// The Gaussian's weights from the middle outwards, so far that what is left out is below a ten-thousandth; the
    /// whole sums to one.
    static func weights(sigma: Double) -> [Float] {
        let reach = max(1, Int((4 * sigma).rounded(.up)))
        // A sigma whose square vanishes would make the middle zero by zero.
        let sigma = max(sigma, 0.001)
        let values = (0...reach).map { exp(-Double($0 * $0) / (2 * sigma * sigma)) }
        let sum = 2 * values.reduce(0, +) - values[0]
        return values.map { Float($0 / sum) }
    }

    private static func sharpen<Pixel: SIMD>(
        _ bitmap: Bitmap, _ sigma: Double, as pixel: Pixel.Type
    ) throws(ImagingError) -> Bitmap where Pixel.Scalar == Float {
        let weights = weights(sigma: sigma)
        let reach = weights.count - 1
        var result = try Bitmap(uninitialized: bitmap.width, bitmap.height, bitmap.format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try bitmap.withUnsafeRows { (source) throws(ImagingError) in
                let bands = RowBands.split(width: bitmap.width, height: bitmap.height, overlap: 2 * reach)
                try RowBands.run(bands) { (band) throws(ImagingError) in
                    try sharpen(source, into: target, band, weights, as: Pixel.self)
                }
            }
        }
        return result
    }

    private static func sharpen<Pixel: SIMD>(
        _ source: BitmapRows, into target: MutableBitmapRows, _ band: Range<Int>, _ weights: [Float],
        as pixel: Pixel.Type
    ) throws(ImagingError) where Pixel.Scalar == Float {
        let (width, height, reach) = (source.width, source.height, weights.count - 1)
        // As many rows, blurred along, as one result looks at; row y stands in slot y % slots.
        let slots = min(2 * reach + 1, height)
        let ring = try Scratch.take(Pixel.self, slots * width + 3 * width + 2 * reach)
        defer { Scratch.give(ring) }
        let (sum, row) = (ring + slots * width, ring + (slots + 1) * width)
        let padded = row + width
        var next = max(0, band.lowerBound - reach)
        let last = Float(255)
        let alpha = source.format.channelCount - 1
        var pace = Pace()
        for y in band {
            try pace.advance(width * (4 * reach + 2))
            while next <= min(y + reach, height - 1) {
                PixelRow.load(source.base + next * source.bytesPerRow, source.format, into: padded + reach, width)
                padded.update(repeating: padded[reach], count: reach)
                (padded + reach + width).update(repeating: padded[reach + width - 1], count: reach)
                blurAlong(padded + reach, into: ring + next % slots * width, width, weights)
                next += 1
            }
            add(ring + y % slots * width, times: weights[0], to: sum, width, first: true)
            for offset in 1...reach {
                let above = ring + max(y - offset, 0) % slots * width
                let below = ring + min(y + offset, height - 1) % slots * width
                add(above, times: weights[offset], to: sum, width, first: false)
                add(below, times: weights[offset], to: sum, width, first: false)
            }
            PixelRow.load(source.base + y * source.bytesPerRow, source.format, into: row, width)
            for x in 0..<width { row[x] = row[x] * 2 - sum[x] }
            if source.format.hasAlpha {
                // Where the alpha leaves its range the colour must not be lit up by it.
                for x in 0..<width where row[x][alpha] > last { row[x] *= last / row[x][alpha] }
            }
            PixelRow.store(row, to: target.base + y * target.bytesPerRow, target.format, width)
        }
    }

    @inline(__always)
    private static func blurAlong<Pixel: SIMD>(
        _ row: UnsafePointer<Pixel>, into output: UnsafeMutablePointer<Pixel>, _ count: Int, _ weights: [Float]
    ) where Pixel.Scalar == Float {
        weights.withUnsafeBufferPointer { weights in
            for x in 0..<count {
                var sum = row[x] * weights[0]
                for offset in 1..<weights.count { sum += (row[x - offset] + row[x + offset]) * weights[offset] }
                output[x] = sum
            }
        }
    }

    @inline(__always)
    private static func add<Pixel: SIMD>(
        _ row: UnsafePointer<Pixel>, times weight: Float, to sum: UnsafeMutablePointer<Pixel>, _ count: Int,
        first: Bool
    ) where Pixel.Scalar == Float {
        if first {
            for x in 0..<count { sum[x] = row[x] * weight }
        } else {
            for x in 0..<count { sum[x] += row[x] * weight }
        }
    }
}
