import Glibc

/// Resizes with Lanczos-3, row by row, and rounds once at the end; 16 bits stay 16.
///
/// Grey pixels take two SIMD lanes and coloured pixels four.
enum Resampler {
    case gray(ResampleStage<SIMD2<Float>>)
    case color(ResampleStage<SIMD4<Float>>)

    /// `extent` is the part of the source that counts; nil is all of it. `sharpening` is explained at `LanczosWeights`.
    init(
        source: PixelSize, extent: (width: Double, height: Double)? = nil, format: PixelFormat, target: PixelSize,
        sharpening: Double = 0
    ) throws(ImagingError) {
        let extent = extent ?? (Double(source.width), Double(source.height))
        self =
            format.isGray
            ? .gray(try ResampleStage(source, extent, format, target, sharpening))
            : .color(try ResampleStage(source, extent, format, target, sharpening))
    }

    /// Resamples the next source row.
    func push(_ row: UnsafeRawPointer) throws(ImagingError) {
        switch self {
        case .gray(let stage): try stage.push(row)
        case .color(let stage): try stage.push(row)
        }
    }

    /// The picture; complete once every source row has been pushed.
    var result: Bitmap {
        switch self {
        case .gray(let stage): stage.result
        case .color(let stage): stage.result
        }
    }

    static func resize(
        _ bitmap: Bitmap, extent: (width: Double, height: Double)? = nil, to size: PixelSize
    ) throws(ImagingError) -> Bitmap {
        if bitmap.size == size { return bitmap }
        let resampler = try Resampler(source: bitmap.size, extent: extent, format: bitmap.format, target: size)
        try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
            for y in 0..<rows.height { try resampler.push(rows.base + y * rows.bytesPerRow) }
        }
        return resampler.result
    }

    /// Returns the picture at each size; nil stands for its own.
    static func resize(_ bitmap: Bitmap, to sizes: [PixelSize?]) throws(ImagingError) -> [Bitmap] {
        try sizes.map { (size) throws(ImagingError) in
            guard let size else { return bitmap }
            return try resize(bitmap, to: size)
        }
    }
}

/// Resamples a picture row by row, and holds only the rows that one target row needs.
final class ResampleStage<Pixel: SIMD> where Pixel.Scalar == Float {
    private let source: PixelSize
    private let horizontal: LanczosWeights
    private let vertical: LanczosWeights
    /// Source rows at the target's width; source row y is in slot y % taps.
    private let ring: UnsafeMutablePointer<Pixel>
    private let input: UnsafeMutablePointer<Pixel>
    private let output: UnsafeMutablePointer<Pixel>
    private var pushed = 0
    private var emitted = 0
    private var pace = Pace()
    /// Complete once every source row has been pushed.
    private(set) var result: Bitmap

    init(
        _ source: PixelSize, _ extent: (width: Double, height: Double), _ format: PixelFormat, _ target: PixelSize,
        _ sharpening: Double
    ) throws(ImagingError) {
        self.source = source
        result = try Bitmap(uninitialized: target.width, target.height, format)
        horizontal = try LanczosWeights(
            source: source.width, extent: extent.width, target: target.width, sharpening: sharpening)
        vertical = try LanczosWeights(
            source: source.height, extent: extent.height, target: target.height, sharpening: sharpening)
        let (size, overflow) = vertical.taps.multipliedReportingOverflow(by: target.width)
        if overflow { throw .outOfMemory(bytes: Int.max) }
        // One allocation, so that only one can fail.
        ring = try Scratch.take(Pixel.self, size + source.width + target.width)
        input = ring + size
        output = input + source.width
    }

    deinit {
        Scratch.give(ring)
    }

    /// Resamples the next source row, which has the result's format.
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

    /// Adds up the weighted rows of the ring.
    private func combine(_ slots: Int, _ first: Int, _ weights: UnsafePointer<Float>, _ count: Int) {
        withUnsafeTemporaryAllocation(of: UnsafePointer<Pixel>.self, capacity: slots) { rows in
            for tap in 0..<slots { rows.initializeElement(at: tap, to: ring + (first + tap) % slots * count) }
            guard let rows = UnsafePointer(rows.baseAddress) else { return }
            PixelRow.add(rows, UnsafeBufferPointer(start: weights, count: slots), into: output, 0..<count)
        }
    }
}

/// The weights for resampling one axis: a run of source positions for each target position.
///
/// For reduction the kernel is widened to cover every source pixel, so that fine detail is averaged and not skipped.
final class LanczosWeights {
    /// The number of weights of each position; shorter runs end in zeros.
    let taps: Int
    /// The first source position of each run. All `taps` positions lie inside the source.
    let starts: UnsafeMutablePointer<Int32>
    /// `taps` weights for each position, with a sum of one.
    let weights: UnsafeMutablePointer<Float>

    /// `extent` is the length of the source that counts. A picture decoded at an eighth of its size has a last column
    /// that the full picture fills only in part.
    ///
    /// `sharpening` restores fine detail that a decode at a reduced size has dimmed. The weights are those for a source
    /// that was first filtered with (-s, 1 + 2s, -s).
    init(source: Int, extent: Double, target: Int, sharpening: Double = 0) throws(ImagingError) {
        let scale = extent / Double(target)
        let width = max(scale, 1)
        let reach = sharpening > 0 ? 1 : 0
        let support = 3 * width
        let taps = min(source, (Int(support.rounded(.up)) + reach) * 2 + 1)
        let (count, overflow) = target.multipliedReportingOverflow(by: taps)
        if overflow { throw .outOfMemory(bytes: Int.max) }
        let starts = try Scratch.take(Int32.self, target)
        do {
            weights = try Scratch.take(Float.self, count)
        } catch {
            Scratch.give(starts)
            throw error
        }
        self.taps = taps
        self.starts = starts
        weights.update(repeating: 0, count: count)
        var pace = Pace()
        for position in 0..<target {
            try pace.advance(taps * 16)
            let center = (Double(position) + 0.5) * scale
            let first = max(0, Int(center - support + 0.5))
            let end = min(source, Int(center + support + 0.5))
            let count = end - first
            // Moved where the padded run would reach beyond the source.
            let start = max(0, min(first - reach, source - taps))
            let run = weights + position * taps
            var sum = 0.0
            for index in 0..<count { sum += LanczosWeights.kernel((Double(first + index) - center + 0.5) / width) }
            for index in first..<min(end, start + taps) {
                let weight = LanczosWeights.kernel((Double(index) - center + 0.5) / width) / sum
                // At an edge the pixel replaces its missing neighbour.
                run[index - start] += Float(weight * (1 + 2 * sharpening))
                guard reach > 0 else { continue }
                run[max(index - 1, 0) - start] -= Float(weight * sharpening)
                run[min(index + 1, source - 1) - start] -= Float(weight * sharpening)
            }
            starts[position] = Int32(start)
        }
    }

    deinit {
        Scratch.give(starts)
        Scratch.give(weights)
    }

    private static func kernel(_ x: Double) -> Double {
        if x == 0 { return 1 }
        if abs(x) >= 3 { return 0 }
        let angle = Double.pi * x
        return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
    }
}
