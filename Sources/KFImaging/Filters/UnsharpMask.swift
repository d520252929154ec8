import Glibc

/// Sharpens: twice the picture minus its Gaussian blur, premultiplied, with edges extended, rounded once at the end.
enum UnsharpMask {
    static func sharpen(_ bitmap: Bitmap, sigma: Double) throws(ImagingError) -> Bitmap {
        let weights = weights(sigma: sigma)
        return try bitmap.mapBands(to: bitmap.format, overlap: 2 * (weights.count - 1)) {
            (source, target, band) throws(ImagingError) in
            if source.format.isGray {
                try sharpen(source, into: target, band, weights, as: SIMD2<Float>.self)
            } else {
                try sharpen(source, into: target, band, weights, as: SIMD4<Float>.self)
            }
        }
    }

    /// Returns the Gaussian's weights from the centre outwards, as far as 4 sigma. The whole kernel has a sum of one.
    ///
    /// Less than a ten-thousandth of the Gaussian lies beyond 4 sigma.
    static func weights(sigma: Double) -> [Float] {
        let reach = max(1, Int((4 * sigma).rounded(.up)))
        // The square of a smaller sigma underflows, and the centre becomes 0 / 0.
        let sigma = max(sigma, 0.001)
        let values = (0...reach).map { exp(-Double($0 * $0) / (2 * sigma * sigma)) }
        let sum = 2 * values.reduce(0, +) - values[0]
        return values.map { Float($0 / sum) }
    }

    private static func sharpen<Pixel: SIMD>(
        _ source: BitmapRows, into target: MutableBitmapRows, _ band: Range<Int>, _ weights: [Float],
        as pixel: Pixel.Type
    ) throws(ImagingError) where Pixel.Scalar == Float {
        let (width, height, reach) = (source.width, source.height, weights.count - 1)
        // The horizontally blurred rows that one result needs; row y is in slot y % slots.
        let slots = min(2 * reach + 1, height)
        let ring = try Scratch.take(Pixel.self, slots * width + 3 * width + 2 * reach)
        defer { Scratch.give(ring) }
        // The centre row, then the rows above and below it in pairs, from the nearest to the farthest.
        let rows = try Scratch.take(UnsafePointer<Pixel>.self, 2 * reach + 1)
        defer { Scratch.give(rows) }
        let rowWeights = weights.prefix(1) + weights.dropFirst().flatMap { [$0, $0] }
        let (sum, row) = (ring + slots * width, ring + (slots + 1) * width)
        let padded = row + width
        var next = max(0, band.lowerBound - reach)
        let last = Float(255)
        let alpha = source.format.channelCount - 1
        var pace = Pace()
        for y in band {
            while next <= min(y + reach, height - 1) {
                PixelRow.load(source.base + next * source.bytesPerRow, source.format, into: padded + reach, width)
                padded.update(repeating: padded[reach], count: reach)
                (padded + reach + width).update(repeating: padded[reach + width - 1], count: reach)
                try blurAlong(padded + reach, into: ring + next % slots * width, width, weights, &pace)
                next += 1
            }
            rows[0] = UnsafePointer(ring + y % slots * width)
            for offset in 1...reach {
                rows[2 * offset - 1] = UnsafePointer(ring + max(y - offset, 0) % slots * width)
                rows[2 * offset] = UnsafePointer(ring + min(y + offset, height - 1) % slots * width)
            }
            for start in stride(from: 0, to: width, by: stretch) {
                let part = start..<min(start + stretch, width)
                try pace.advance(part.count * weights.count * 2)
                rowWeights.withUnsafeBufferPointer { PixelRow.add(rows, $0, into: sum, part) }
            }
            PixelRow.load(source.base + y * source.bytesPerRow, source.format, into: row, width)
            for x in 0..<width { row[x] = row[x] * 2 - sum[x] }
            if source.format.hasAlpha {
                // An alpha above its range is clamped; the premultiplied colour must shrink with it.
                for x in 0..<width where row[x][alpha] > last { row[x] *= last / row[x][alpha] }
            }
            PixelRow.store(row, to: target.base + y * target.bytesPerRow, target.format, width)
        }
    }

    /// The number of pixels between two checks of the clock: a row may have a million pixels with hundreds of weights
    /// each.
    private static let stretch = 1024

    @inline(__always)
    private static func blurAlong<Pixel: SIMD>(
        _ row: UnsafePointer<Pixel>, into output: UnsafeMutablePointer<Pixel>, _ count: Int, _ weights: [Float],
        _ pace: inout Pace
    ) throws(ImagingError) where Pixel.Scalar == Float {
        for start in stride(from: 0, to: count, by: stretch) {
            let end = min(start + stretch, count)
            try pace.advance((end - start) * weights.count * 2)
            weights.withUnsafeBufferPointer { weights in
                var x = start
                // Four independent sums at a time.
                while x + 4 <= end {
                    let middle = row + x
                    var (a, b) = (middle[0] * weights[0], middle[1] * weights[0])
                    var (c, d) = (middle[2] * weights[0], middle[3] * weights[0])
                    for offset in 1..<weights.count {
                        let (left, right, weight) = (middle - offset, middle + offset, weights[offset])
                        a += (left[0] + right[0]) * weight
                        b += (left[1] + right[1]) * weight
                        c += (left[2] + right[2]) * weight
                        d += (left[3] + right[3]) * weight
                    }
                    (output[x], output[x + 1], output[x + 2], output[x + 3]) = (a, b, c, d)
                    x += 4
                }
                while x < end {
                    var sum = row[x] * weights[0]
                    for offset in 1..<weights.count { sum += (row[x - offset] + row[x + offset]) * weights[offset] }
                    output[x] = sum
                    x += 1
                }
            }
        }
    }
}
