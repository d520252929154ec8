/// Resamples a picture whose rows come one after the other, and holds only as many as one target row looks at.
final class ResampleStage<Pixel: SIMD> where Pixel.Scalar == Float {
    private let source: PixelSize
    private let horizontal: LanczosWeights
    private let vertical: LanczosWeights
    /// Source rows, narrowed to the target's width; source row y stands in slot y % taps.
    private let ring: UnsafeMutablePointer<Pixel>
    private let input: UnsafeMutablePointer<Pixel>
    private let output: UnsafeMutablePointer<Pixel>
    private var pushed = 0
    private var emitted = 0
    private var pace = Pace()
    /// Complete once every source row has been pushed.
    private(set) var result: Bitmap

    init(
        source: PixelSize, extent: (width: Double, height: Double), format: PixelFormat, target: PixelSize,
        sharpening: Double
    ) throws(ImagingError) {
        self.source = source
        result = try Bitmap(uninitialized: target.width, target.height, format)
        horizontal = try LanczosWeights(
            source: source.width, extent: extent.width, target: target.width, sharpening: sharpening)
        vertical = try LanczosWeights(
            source: source.height, extent: extent.height, target: target.height, sharpening: sharpening)
        let (size, overflow) = vertical.taps.multipliedReportingOverflow(by: target.width)
        if overflow { throw .outOfMemory(bytes: Int.max) }
        // One run of memory, so that there is only one that can fail.
        ring = try Scratch.take(Pixel.self, size + source.width + target.width)
        input = ring + size
        output = input + source.width
    }

    deinit {
        Scratch.give(ring)
    }

    /// Takes the next source row, in the result's format.
    func push(_ row: UnsafeRawPointer) throws(ImagingError) {
        let width = result.width
        let slots = vertical.taps
        try pace.advance(source.width + width * horizontal.taps)
        PixelRow.load(row, result.format, into: input, source.width)
        narrow(into: ring + pushed % slots * width, width)
        pushed += 1
        while emitted < result.height, Int(vertical.starts[emitted]) + slots <= pushed {
            try pace.advance(width * slots)
            combine(slots, Int(vertical.starts[emitted]), vertical.weights + emitted * slots, width)
            try result.withUnsafeMutableRows { (target) throws(ImagingError) in
                PixelRow.store(output, to: target.base + emitted * target.bytesPerRow, target.format, width)
            }
            emitted += 1
        }
    }

    @inline(__always)
    private func narrow(into output: UnsafeMutablePointer<Pixel>, _ count: Int) {
        let taps = horizontal.taps
        let starts = horizontal.starts
        var weight = horizontal.weights
        for x in 0..<count {
            let run = input + Int(starts[x])
            var sum = Pixel.zero
            for tap in 0..<taps { sum += run[tap] * weight[tap] }
            output[x] = sum
            weight += taps
        }
    }

    /// The weighted sum of the ring's rows, a few pixels at a time so that the sums stay in registers.
    @inline(__always)
    private func combine(_ slots: Int, _ first: Int, _ weights: UnsafePointer<Float>, _ count: Int) {
        var x = 0
        while x + 4 <= count {
            var (a, b, c, d) = (Pixel.zero, Pixel.zero, Pixel.zero, Pixel.zero)
            var slot = first % slots
            for tap in 0..<slots {
                let row = ring + (slot * count + x)
                let weight = weights[tap]
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
                sum += ring[slot * count + x] * weights[tap]
                slot = slot + 1 == slots ? 0 : slot + 1
            }
            output[x] = sum
            x += 1
        }
    }
}
