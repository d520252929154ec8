/// Converts rows of pixels to vectors of floats and back: two lanes for grey and alpha, four for colours and alpha.
///
/// Colours are premultiplied by alpha, so that transparent pixels add nothing to their neighbours.
enum PixelRow {
    /// Reads a row. Samples keep their range, 0…255 or 0…65535. Lanes without a channel are zero.
    static func load<Pixel: SIMD>(
        _ row: UnsafeRawPointer, _ format: PixelFormat, into pixels: UnsafeMutablePointer<Pixel>, _ count: Int
    ) where Pixel.Scalar == Float {
        switch format.depth {
        case .eight: load(row.assumingMemoryBound(to: UInt8.self), format.channels, into: pixels, count)
        case .sixteen: load(row.assumingMemoryBound(to: UInt16.self), format.channels, into: pixels, count)
        }
    }

    /// Writes a row, rounded to the nearest value and clamped.
    static func store<Pixel: SIMD>(
        _ pixels: UnsafePointer<Pixel>, to row: UnsafeMutableRawPointer, _ format: PixelFormat, _ count: Int
    ) where Pixel.Scalar == Float {
        switch format.depth {
        case .eight: store(pixels, to: row.assumingMemoryBound(to: UInt8.self), format.channels, count)
        case .sixteen: store(pixels, to: row.assumingMemoryBound(to: UInt16.self), format.channels, count)
        }
    }

    @inline(__always)
    private static func load<Pixel: SIMD, Sample: FixedWidthInteger & UnsignedInteger>(
        _ row: UnsafePointer<Sample>, _ channels: PixelFormat.Channels, into pixels: UnsafeMutablePointer<Pixel>,
        _ count: Int
    ) where Pixel.Scalar == Float {
        let perUnit = 1 / Float(Sample.max)
        switch channels {
        case .gray:
            for x in 0..<count {
                var pixel = Pixel.zero
                pixel[0] = Float(row[x])
                pixels[x] = pixel
            }
        case .grayAlpha:
            for x in 0..<count {
                let alpha = Float(row[2 * x + 1])
                var pixel = Pixel.zero
                pixel[0] = Float(row[2 * x]) * (alpha * perUnit)
                pixel[1] = alpha
                pixels[x] = pixel
            }
        case .rgb:
            for x in 0..<count {
                var pixel = Pixel.zero
                pixel[0] = Float(row[3 * x])
                pixel[1] = Float(row[3 * x + 1])
                pixel[2] = Float(row[3 * x + 2])
                pixels[x] = pixel
            }
        case .rgba:
            for x in 0..<count {
                let alpha = Float(row[4 * x + 3])
                let factor = alpha * perUnit
                var pixel = Pixel.zero
                pixel[0] = Float(row[4 * x]) * factor
                pixel[1] = Float(row[4 * x + 1]) * factor
                pixel[2] = Float(row[4 * x + 2]) * factor
                pixel[3] = alpha
                pixels[x] = pixel
            }
        }
    }

    @inline(__always)
    private static func store<Pixel: SIMD, Sample: FixedWidthInteger & UnsignedInteger>(
        _ pixels: UnsafePointer<Pixel>, to row: UnsafeMutablePointer<Sample>, _ channels: PixelFormat.Channels,
        _ count: Int
    ) where Pixel.Scalar == Float {
        let top = Float(Sample.max)
        let step = channels.rawValue
        switch channels {
        case .gray, .rgb:
            for x in 0..<count {
                let pixel = pixels[x]
                for channel in 0..<step { row[step * x + channel] = sample(pixel[channel], top) }
            }
        case .grayAlpha, .rgba:
            let last = step - 1
            for x in 0..<count {
                let pixel = pixels[x]
                let alpha = pixel[last]
                // An alpha below 0.5 is rounded to 0, and the colour must not be divided by it.
                let factor = alpha < 0.5 ? 0 : top / min(alpha, top)
                for channel in 0..<last { row[step * x + channel] = sample(pixel[channel] * factor, top) }
                row[step * x + last] = sample(alpha, top)
            }
        }
    }

    /// Adds up weighted rows in a range of pixels, eight at a time so that the sums stay in registers.
    @inline(__always)
    static func add<Pixel: SIMD>(
        _ rows: UnsafePointer<UnsafePointer<Pixel>>, _ weights: UnsafeBufferPointer<Float>,
        into output: UnsafeMutablePointer<Pixel>, _ range: Range<Int>
    ) where Pixel.Scalar == Float {
        var x = range.lowerBound
        while x + 8 <= range.upperBound {
            var (a, b, c, d) = (Pixel.zero, Pixel.zero, Pixel.zero, Pixel.zero)
            var (e, f, g, h) = (a, b, c, d)
            for index in weights.indices {
                let (row, weight) = (rows[index] + x, weights[index])
                a += row[0] * weight
                b += row[1] * weight
                c += row[2] * weight
                d += row[3] * weight
                e += row[4] * weight
                f += row[5] * weight
                g += row[6] * weight
                h += row[7] * weight
            }
            (output[x], output[x + 1], output[x + 2], output[x + 3]) = (a, b, c, d)
            (output[x + 4], output[x + 5], output[x + 6], output[x + 7]) = (e, f, g, h)
            x += 8
        }
        while x < range.upperBound {
            var sum = Pixel.zero
            for index in weights.indices { sum += rows[index][x] * weights[index] }
            output[x] = sum
            x += 1
        }
    }

    @inline(__always)
    private static func sample<Sample: FixedWidthInteger & UnsignedInteger>(_ value: Float, _ top: Float) -> Sample {
        Sample(truncatingIfNeeded: Int32(max(0, min(value, top)) + 0.5))
    }
}
