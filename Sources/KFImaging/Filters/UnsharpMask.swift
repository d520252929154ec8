import Glibc

/// Sharpens: twice the picture minus its Gaussian blur, premultiplied, with edges extended, rounded once at the end.
enum UnsharpMask {
    static func sharpen(_ bitmap: Bitmap, sigma: Double) throws(ImagingError) -> Bitmap {
        let weights = weights(sigma: sigma)
        return try bitmap.mapBands(to: bitmap.format, overlap: 2 * (weights.count - 1)) {
            (source, target, band) throws(ImagingError) in
            let span = tile(weights, source.format)
            for start in stride(from: 0, to: source.width, by: span) {
                let columns = start..<min(start + span, source.width)
                try sharpen(source, into: target, band, columns, weights)
            }
        }
    }

    /// Returns the Gaussian's weights from the centre outwards, as far as 4 sigma. The whole kernel has a sum of one.
    ///
    /// Less than a ten-thousandth of the Gaussian lies beyond 4 sigma.
    static func weights(sigma: Double) -> [Float] {
        let reach = max(1, Int(clamping: (4 * sigma).rounded(.up)))
        // The square of a smaller sigma underflows, and the centre becomes 0 / 0.
        let sigma = max(sigma, 0.001)
        let values = (0...reach).map { exp(-Double($0 * $0) / (2 * sigma * sigma)) }
        let sum = 2 * values.reduce(0, +) - values[0]
        return values.map { Float($0 / sum) }
    }

    /// The columns whose blurred rows stay in the second-level cache (256 KiB of them), and enough of them that the
    /// columns beside them, which are read again, cost little.
    private static func tile(_ weights: [Float], _ format: PixelFormat) -> Int {
        let slots = 2 * weights.count - 1
        return max((1 << 16) / (slots * format.channelCount), 4 * slots)
    }

    /// A row is a run of premultiplied samples, whatever the channels: no lane of a vector is empty.
    private static func sharpen(
        _ source: BitmapRows, into target: MutableBitmapRows, _ band: Range<Int>, _ columns: Range<Int>,
        _ weights: [Float]
    ) throws(ImagingError) {
        let (width, height, reach) = (columns.count, source.height, weights.count - 1)
        // The columns to read, and those that are missing behind the picture's edges.
        let read = max(0, columns.lowerBound - reach)..<min(source.width, columns.upperBound + reach)
        let before = read.lowerBound - (columns.lowerBound - reach)
        let behind = columns.upperBound + reach - read.upperBound
        let channels = source.format.channelCount
        // Whole vectors; the samples behind the last pixel are computed and not used.
        let length = (width * channels + 15) & ~15
        let edge = reach * channels
        // The horizontally blurred rows that one result needs; row y is in slot y % slots.
        let slots = min(2 * reach + 1, height)
        let ring = try Scratch.take(Float.self, slots * length + 3 * length + 2 * edge)
        defer { Scratch.give(ring) }
        ring.update(repeating: 0, count: slots * length + 3 * length + 2 * edge)
        // The centre row, then the rows above and below it in pairs, from the nearest to the farthest.
        let rows = try Scratch.take(UnsafePointer<SIMD4<Float>>.self, 2 * reach + 1)
        defer { Scratch.give(rows) }
        let rowWeights = weights.prefix(1) + weights.dropFirst().flatMap { [$0, $0] }
        let (sum, row) = (ring + slots * length, ring + (slots + 1) * length)
        let window = row + length
        func quads(_ samples: UnsafeMutablePointer<Float>) -> UnsafeMutablePointer<SIMD4<Float>> {
            vectors(samples, of: SIMD4<Float>.self)
        }
        var next = max(0, band.lowerBound - reach)
        var pace = Pace()
        for y in band {
            while next <= min(y + reach, height - 1) {
                load(
                    source.row(next) + read.lowerBound * channels, source.format, into: window + before * channels,
                    read.count)
                for index in 0..<before * channels { window[index] = window[before * channels + index % channels] }
                let end = window + (before + read.count) * channels
                for index in 0..<behind * channels { end[index] = end[index % channels - channels] }
                try blurAlong(window + edge, into: ring + next % slots * length, length, channels, weights, &pace)
                next += 1
            }
            rows[0] = UnsafePointer(quads(ring + y % slots * length))
            for offset in 1...reach {
                rows[2 * offset - 1] = UnsafePointer(quads(ring + max(y - offset, 0) % slots * length))
                rows[2 * offset] = UnsafePointer(quads(ring + min(y + offset, height - 1) % slots * length))
            }
            for start in stride(from: 0, to: length / 4, by: stretch) {
                let part = start..<min(start + stretch, length / 4)
                try pace.advance(part.count * weights.count * 2)
                rowWeights.withUnsafeBufferPointer { PixelRow.add(rows, $0, into: quads(sum), part) }
            }
            load(source.row(y) + columns.lowerBound * channels, source.format, into: row, width)
            for index in 0..<length { row[index] = row[index] * 2 - sum[index] }
            store(row, to: target.row(y) + columns.lowerBound * channels, target.format, width)
        }
    }

    private static func load(
        _ row: UnsafePointer<UInt8>, _ format: PixelFormat, into samples: UnsafeMutablePointer<Float>, _ width: Int
    ) {
        let channels = format.channelCount
        switch format.channels {
        case .gray, .rgb: for index in 0..<width * channels { samples[index] = Float(row[index]) }
        case .grayAlpha: PixelRow.load(row, format, into: vectors(samples, of: SIMD2<Float>.self), width)
        case .rgba: PixelRow.load(row, format, into: vectors(samples, of: SIMD4<Float>.self), width)
        }
    }

    private static func vectors<Vector>(
        _ samples: UnsafeMutablePointer<Float>, of type: Vector.Type
    ) -> UnsafeMutablePointer<Vector> {
        UnsafeMutableRawPointer(samples).assumingMemoryBound(to: type)
    }

    private static func store(
        _ samples: UnsafeMutablePointer<Float>, to row: UnsafeMutablePointer<UInt8>, _ format: PixelFormat, _ width: Int
    ) {
        switch format.channels {
        case .gray, .rgb:
            for index in 0..<width * format.channelCount {
                row[index] = UInt8(truncatingIfNeeded: Int32(max(0, min(samples[index], 255)) + 0.5))
            }
        case .grayAlpha: store(vectors(samples, of: SIMD2<Float>.self), to: row, format, width)
        case .rgba: store(vectors(samples, of: SIMD4<Float>.self), to: row, format, width)
        }
    }

    private static func store<Pixel: SIMD>(
        _ pixels: UnsafeMutablePointer<Pixel>, to row: UnsafeMutablePointer<UInt8>, _ format: PixelFormat, _ width: Int
    ) where Pixel.Scalar == Float {
        // An alpha above its range is clamped; the premultiplied colour must shrink with it.
        let alpha = format.channelCount - 1
        for x in 0..<width where pixels[x][alpha] > 255 { pixels[x] *= 255 / pixels[x][alpha] }
        PixelRow.store(pixels, to: row, format, width)
    }

    /// The number of vectors between two checks of the clock: a row may have a million pixels with hundreds of weights
    /// each.
    private static let stretch = 1024

    @inline(__always)
    private static func blurAlong(
        _ row: UnsafePointer<Float>, into output: UnsafeMutablePointer<Float>, _ length: Int, _ channels: Int,
        _ weights: [Float], _ pace: inout Pace
    ) throws(ImagingError) {
        let input = UnsafeRawPointer(row)
        let result = UnsafeMutableRawPointer(output)
        for start in stride(from: 0, to: length, by: 4 * stretch) {
            let end = min(start + 4 * stretch, length)
            try pace.advance((end - start) / 4 * weights.count * 2)
            weights.withUnsafeBufferPointer { weights in
                // Four independent sums at a time.
                for place in stride(from: start * 4, to: end * 4, by: 64) {
                    func vector(_ offset: Int) -> SIMD4<Float> {
                        input.loadUnaligned(fromByteOffset: place + offset, as: SIMD4<Float>.self)
                    }
                    let first = weights[0]
                    var (a, b) = (vector(0) * first, vector(16) * first)
                    var (c, d) = (vector(32) * first, vector(48) * first)
                    for step in 1..<weights.count {
                        let (offset, weight) = (step * channels * 4, weights[step])
                        a += (vector(-offset) + vector(offset)) * weight
                        b += (vector(16 - offset) + vector(16 + offset)) * weight
                        c += (vector(32 - offset) + vector(32 + offset)) * weight
                        d += (vector(48 - offset) + vector(48 + offset)) * weight
                    }
                    result.storeBytes(of: a, toByteOffset: place, as: SIMD4<Float>.self)
                    result.storeBytes(of: b, toByteOffset: place + 16, as: SIMD4<Float>.self)
                    result.storeBytes(of: c, toByteOffset: place + 32, as: SIMD4<Float>.self)
                    result.storeBytes(of: d, toByteOffset: place + 48, as: SIMD4<Float>.self)
                }
            }
        }
    }
}
