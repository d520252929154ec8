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

    @inline(__always)
    private static func load<Pixel: SIMD, Sample: FixedWidthInteger & UnsignedInteger & SIMDScalar>(
        _ row: UnsafePointer<Sample>, _ channels: PixelFormat.Channels, into pixels: UnsafeMutablePointer<Pixel>,
        _ count: Int
    ) where Pixel.Scalar == Float {
        let (perUnit, whole, alphaLane) = (1 / Float(Sample.max), whole, alphaLane)
        func four(_ place: UnsafeRawPointer) -> SIMD4<Float> {
            // 2^23 with the sample in the mantissa, less 2^23: lane by lane, the conversion takes twice as long.
            let bits = SIMD4<UInt32>(truncatingIfNeeded: place.loadUnaligned(as: SIMD4<Sample>.self))
            return unsafeBitCast(bits | SIMD4(repeating: whole.bitPattern), to: SIMD4<Float>.self) - whole
        }
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
            let pixels = UnsafeMutableRawPointer(pixels).assumingMemoryBound(to: SIMD4<Float>.self)
            // The fourth sample is the next pixel's red, which the last pixel lacks.
            for x in 0..<count - 1 {
                pixels[x] = four(UnsafeRawPointer(row + 3 * x)).replacing(with: 0, where: alphaLane)
            }
            let last = row + 3 * (count - 1)
            pixels[count - 1] = SIMD4(Float(last[0]), Float(last[1]), Float(last[2]), 0)
        case .rgba:
            let pixels = UnsafeMutableRawPointer(pixels).assumingMemoryBound(to: SIMD4<Float>.self)
            for x in 0..<count {
                let pixel = four(UnsafeRawPointer(row + 4 * x))
                pixels[x] = pixel * SIMD4(repeating: pixel.w * perUnit).replacing(with: 1, where: alphaLane)
            }
        }
    }

    /// Writes a row of 8 bits a sample, rounded to the nearest value and clamped.
    static func store<Pixel: SIMD>(
        _ pixels: UnsafePointer<Pixel>, to row: UnsafeMutablePointer<UInt8>, _ format: PixelFormat, _ count: Int
    ) where Pixel.Scalar == Float {
        let top: Float = 255
        switch format.channels {
        case .gray: for x in 0..<count { row[x] = sample(pixels[x][0], top) }
        case .rgb:
            let pixels = UnsafeRawPointer(pixels).assumingMemoryBound(to: SIMD4<Float>.self)
            let limit = SIMD4(repeating: top)
            // The fourth sample is written where the next pixel follows, which the last pixel lacks.
            for x in 0..<count - 1 {
                UnsafeMutableRawPointer(row + 3 * x).storeBytes(of: samples(pixels[x], limit), as: SIMD4<UInt8>.self)
            }
            for channel in 0..<3 { row[3 * (count - 1) + channel] = sample(pixels[count - 1][channel], top) }
        case .grayAlpha:
            for x in 0..<count {
                let alpha = pixels[x][1]
                // An alpha below 0.5 is rounded to 0, and the colour must not be divided by it.
                let factor = alpha < 0.5 ? 0 : top / min(alpha, top)
                row[2 * x] = sample(pixels[x][0] * factor, top)
                row[2 * x + 1] = sample(alpha, top)
            }
        case .rgba:
            let pixels = UnsafeRawPointer(pixels).assumingMemoryBound(to: SIMD4<Float>.self)
            let (top, alphaLane) = (SIMD4(repeating: top), alphaLane)
            for x in 0..<count {
                let alpha = SIMD4(repeating: pixels[x].w)
                let quotient = top / alpha.replacing(with: top, where: alpha .> top)
                let factor = quotient.replacing(with: 0, where: alpha .< 0.5)
                let pixel = pixels[x] * factor.replacing(with: 1, where: alphaLane)
                UnsafeMutableRawPointer(row + 4 * x).storeBytes(of: samples(pixel, top), as: SIMD4<UInt8>.self)
            }
        }
    }

    /// 2^23: the float whose lowest bit of the mantissa is 1, so that whole numbers added to it are the lowest bits.
    @inline(__always) private static var whole: Float { 0x1p23 }
    @inline(__always) private static var alphaLane: SIMDMask<SIMD4<Int32>> { [false, false, false, true] }

    /// Adds up weighted rows in a range of pixels, eight at a time so that the sums stay in registers.
    @inline(__always)
    static func add(
        _ rows: UnsafePointer<UnsafePointer<SIMD4<Float>>>, _ weights: UnsafeBufferPointer<Float>,
        into output: UnsafeMutablePointer<SIMD4<Float>>, _ range: Range<Int>
    ) {
        var x = range.lowerBound
        while x + 8 <= range.upperBound {
            var (a, b, c, d) = (SIMD4<Float>.zero, SIMD4<Float>.zero, SIMD4<Float>.zero, SIMD4<Float>.zero)
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
            var sum = SIMD4<Float>.zero
            for index in weights.indices { sum += rows[index][x] * weights[index] }
            output[x] = sum
            x += 1
        }
    }

    @inline(__always)
    private static func sample(_ value: Float, _ top: Float) -> UInt8 {
        UInt8(truncatingIfNeeded: Int32(max(0, min(value, top)) + 0.5))
    }

    /// Four samples at once, rounded as one is. Processors without SSE4.1 have no instruction for a vector's floor.
    @inline(__always)
    private static func samples(_ values: SIMD4<Float>, _ top: SIMD4<Float>) -> SIMD4<UInt8> {
        let positive = values.replacing(with: 0, where: values .< 0)
        let halved = positive.replacing(with: top, where: positive .> top) + 0.5
        let nearest = halved + whole - whole
        let floor = nearest.replacing(with: nearest - 1, where: nearest .> halved)
        return SIMD4(truncatingIfNeeded: unsafeBitCast(floor + whole, to: SIMD4<UInt32>.self))
    }
}
