/// Resizes bitmaps with Lanczos-3, rounding once at the end; 16 bits stay 16.
enum Resampler {
    static func resize(_ bitmap: Bitmap, to size: PixelSize) throws(ImagingError) -> Bitmap {
        if bitmap.width == size.width, bitmap.height == size.height { return bitmap }
        return bitmap.format.isGray
            ? try resize(bitmap, to: size, as: SIMD2<Float>.self)
            : try resize(bitmap, to: size, as: SIMD4<Float>.self)
    }

    private static func resize<Pixel: SIMD>(
        _ bitmap: Bitmap, to size: PixelSize, as pixel: Pixel.Type
    ) throws(ImagingError) -> Bitmap where Pixel.Scalar == Float {
        let horizontal = LanczosWeights(source: bitmap.width, target: size.width)
        let vertical = LanczosWeights(source: bitmap.height, target: size.height)
        var result = try Bitmap(uninitialized: size.width, size.height, bitmap.format)

        // Source rows, narrowed to the target's width, as many as one target row looks at. Source row y stands in
        // slot y % taps.
        let slots = vertical.taps
        let ring = UnsafeMutablePointer<Pixel>.allocate(capacity: slots * size.width)
        let input = UnsafeMutablePointer<Pixel>.allocate(capacity: bitmap.width)
        let output = UnsafeMutablePointer<Pixel>.allocate(capacity: size.width)
        defer {
            ring.deallocate()
            input.deallocate()
            output.deallocate()
        }
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            bitmap.withUnsafeRows { source in
                var loaded = 0
                for y in 0..<target.height {
                    let first = Int(vertical.starts[y])
                    while loaded < first + slots {
                        let slot = ring + loaded % slots * size.width
                        PixelRow.load(
                            source.base + loaded * source.bytesPerRow, source.format, into: input, source.width)
                        narrow(input, horizontal, into: slot, size.width)
                        loaded += 1
                    }
                    combine(ring, slots, first, vertical.weights, y * slots, into: output, size.width)
                    PixelRow.store(output, to: target.base + y * target.bytesPerRow, target.format, size.width)
                }
            }
        }
        return result
    }

    @inline(__always)
    private static func narrow<Pixel: SIMD>(
        _ input: UnsafePointer<Pixel>, _ axis: LanczosWeights, into output: UnsafeMutablePointer<Pixel>, _ count: Int
    ) where Pixel.Scalar == Float {
        axis.weights.withUnsafeBufferPointer { weights in
            axis.starts.withUnsafeBufferPointer { starts in
                let taps = axis.taps
                guard var weight = weights.baseAddress else { return }
                for x in 0..<count {
                    let run = input + Int(starts[x])
                    var sum = Pixel.zero
                    for tap in 0..<taps { sum += run[tap] * weight[tap] }
                    output[x] = sum
                    weight += taps
                }
            }
        }
    }

    /// The weighted sum of the ring's rows, a few pixels at a time so that the sums stay in registers.
    @inline(__always)
    private static func combine<Pixel: SIMD>(
        _ ring: UnsafePointer<Pixel>, _ slots: Int, _ first: Int, _ weights: [Float], _ offset: Int,
        into output: UnsafeMutablePointer<Pixel>, _ count: Int
    ) where Pixel.Scalar == Float {
        weights.withUnsafeBufferPointer { weights in
            var x = 0
            while x + 4 <= count {
                var (a, b, c, d) = (Pixel.zero, Pixel.zero, Pixel.zero, Pixel.zero)
                var slot = first % slots
                for tap in 0..<slots {
                    let row = ring + (slot * count + x)
                    let weight = weights[offset + tap]
                    a += row[0] * weight
                    b += row[1] * weight
                    c += row[2] * weight
                    d += row[3] * weight
                    slot = slot + 1 == slots ? 0 : slot + 1
                }
                (output[x], output[x + 1], output[x + 2], output[x + 3]) = (a, b, c, d)
                x += 4
            }
            while x < count {
                var sum = Pixel.zero
                var slot = first % slots
                for tap in 0..<slots {
                    sum += ring[slot * count + x] * weights[offset + tap]
                    slot = slot + 1 == slots ? 0 : slot + 1
                }
                output[x] = sum
                x += 1
            }
        }
    }
}
