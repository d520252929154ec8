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
        let weights = try ResampleWeights(source, extent, target, sharpening)
        self =
            format.isGray
            ? .gray(try ResampleStage(weights, format)) : .color(try ResampleStage(weights, format))
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

    /// Returns the picture at this size. A large one is resampled on all cores, with the pixels of one pass.
    static func resize(
        _ bitmap: Bitmap, extent: (width: Double, height: Double)? = nil, to size: PixelSize
    ) throws(ImagingError) -> Bitmap {
        if bitmap.size == size { return bitmap }
        return bitmap.format.isGray
            ? try ResampleStage<SIMD2<Float>>.resize(bitmap, extent, to: size)
            : try ResampleStage<SIMD4<Float>>.resize(bitmap, extent, to: size)
    }

    /// Returns the picture at each size; nil stands for its own.
    static func resize(_ bitmap: Bitmap, to sizes: [PixelSize?]) throws(ImagingError) -> [Bitmap] {
        try sizes.map { (size) throws(ImagingError) in
            guard let size else { return bitmap }
            return try resize(bitmap, to: size)
        }
    }
}

/// The weights of both axes.
struct ResampleWeights {
    let source: PixelSize
    let target: PixelSize
    let horizontal: LanczosWeights
    let vertical: LanczosWeights

    init(
        _ source: PixelSize, _ extent: (width: Double, height: Double)?, _ target: PixelSize, _ sharpening: Double = 0
    ) throws(ImagingError) {
        (self.source, self.target) = (source, target)
        horizontal = try LanczosWeights(
            source: source.width, extent: extent?.width ?? Double(source.width), target: target.width,
            sharpening: sharpening)
        vertical = try LanczosWeights(
            source: source.height, extent: extent?.height ?? Double(source.height), target: target.height,
            sharpening: sharpening)
    }
}

/// Resamples a picture row by row into a bitmap of its own.
final class ResampleStage<Pixel: SIMD> where Pixel.Scalar == Float {
    private let band: ResampleBand<Pixel>
    /// Complete once every source row has been pushed.
    private(set) var result: Bitmap

    init(_ weights: ResampleWeights, _ format: PixelFormat) throws(ImagingError) {
        result = try Bitmap(uninitialized: weights.target.width, weights.target.height, format)
        band = try ResampleBand(weights, 0..<weights.target.height)
    }

    /// Resamples the next source row, which has the result's format.
    func push(_ row: UnsafeRawPointer) throws(ImagingError) {
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in try band.push(row, into: target) }
    }

    /// Resamples bands of a whole picture in parallel. Some rows of the source are narrowed for two bands.
    static func resize(
        _ bitmap: Bitmap, _ extent: (width: Double, height: Double)?, to size: PixelSize
    ) throws(ImagingError) -> Bitmap {
        let weights = try ResampleWeights(bitmap.size, extent, size)
        let bands = RowBands.split(width: max(bitmap.width, size.width), height: size.height, overlap: 3)
        var result = try Bitmap(uninitialized: size.width, size.height, bitmap.format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try bitmap.withUnsafeRows { (source) throws(ImagingError) in
                try RowBands.run(bands) { (rows) throws(ImagingError) in
                    let band = try ResampleBand<Pixel>(weights, rows)
                    for y in band.needed { try band.push(source.base + y * source.bytesPerRow, into: target) }
                }
            }
        }
        return result
    }
}

/// Resamples some rows of the target, and holds only the source rows that one target row needs.
private final class ResampleBand<Pixel: SIMD> where Pixel.Scalar == Float {
    private let source: PixelSize
    private let width: Int
    private let horizontal: LanczosWeights
    private let vertical: LanczosWeights
    private let end: Int
    /// Source rows at the target's width; source row y is in slot y % taps.
    private let ring: UnsafeMutablePointer<Pixel>
    private let input: UnsafeMutablePointer<Pixel>
    private let output: UnsafeMutablePointer<Pixel>
    private var pushed: Int
    private var emitted: Int
    private var pace = Pace()

    init(_ weights: ResampleWeights, _ rows: Range<Int>) throws(ImagingError) {
        (source, width) = (weights.source, weights.target.width)
        (horizontal, vertical) = (weights.horizontal, weights.vertical)
        (emitted, end) = (rows.lowerBound, rows.upperBound)
        pushed = rows.lowerBound == 0 ? 0 : Int(vertical.starts[rows.lowerBound])
        let (size, overflow) = vertical.taps.multipliedReportingOverflow(by: width)
        if overflow { throw .outOfMemory(bytes: Int.max) }
        // One allocation, so that only one can fail.
        ring = try Scratch.take(Pixel.self, size + source.width + width)
        input = ring + size
        output = input + source.width
    }

    deinit {
        Scratch.give(ring)
    }

    /// The source rows to push, in their order.
    var needed: Range<Int> { pushed..<Int(vertical.starts[end - 1]) + vertical.taps }

    /// Resamples the next source row, and writes the rows of the target that it completes.
    func push(_ row: UnsafeRawPointer, into target: MutableBitmapRows) throws(ImagingError) {
        let slots = vertical.taps
        try pace.advance(source.width + width * horizontal.taps)
        PixelRow.load(row, target.format, into: input, source.width)
        narrow(into: ring + pushed % slots * width, width)
        pushed += 1
        while emitted < end, Int(vertical.starts[emitted]) + slots <= pushed {
            try pace.advance(width * slots)
            combine(slots, Int(vertical.starts[emitted]), vertical.weights + emitted * slots, width)
            PixelRow.store(output, to: target.base + emitted * target.bytesPerRow, target.format, width)
            emitted += 1
        }
    }

    @inline(__always)
    private func narrow(into output: UnsafeMutablePointer<Pixel>, _ count: Int) {
        let taps = horizontal.taps
        let starts = horizontal.starts
        var weight = horizontal.weights
        var x = 0
        // Four pixels at a time: their sums do not wait for each other.
        while x + 4 <= count {
            let (a, b) = (input + Int(starts[x]), input + Int(starts[x + 1]))
            let (c, d) = (input + Int(starts[x + 2]), input + Int(starts[x + 3]))
            var sums = (Pixel.zero, Pixel.zero, Pixel.zero, Pixel.zero)
            for tap in 0..<taps {
                sums.0 += a[tap] * weight[tap]
                sums.1 += b[tap] * weight[tap + taps]
                sums.2 += c[tap] * weight[tap + 2 * taps]
                sums.3 += d[tap] * weight[tap + 3 * taps]
            }
            (output[x], output[x + 1], output[x + 2], output[x + 3]) = sums
            weight += 4 * taps
            x += 4
        }
        while x < count {
            let run = input + Int(starts[x])
            var sum = Pixel.zero
            for tap in 0..<taps { sum += run[tap] * weight[tap] }
            output[x] = sum
            weight += taps
            x += 1
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
        let taps = min(source, (Int(clamping: support.rounded(.up)) + reach) * 2 + 1)
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
        let values = try Scratch.take(Double.self, min(source, Int(clamping: 2 * support) + 2))
        defer { Scratch.give(values) }
        var pace = Pace()
        for position in 0..<target {
            try pace.advance(taps * 16)
            let center = (Double(position) + 0.5) * scale
            let first = max(0, Int(clamping: center - support + 0.5))
            let end = min(source, Int(clamping: center + support + 0.5))
            let count = end - first
            // Moved where the padded run would reach beyond the source.
            let start = max(0, min(first - reach, source - taps))
            let run = weights + position * taps
            var sum = 0.0
            for index in 0..<count {
                values[index] = LanczosWeights.kernel((Double(first + index) - center + 0.5) / width)
                sum += values[index]
            }
            for index in first..<min(end, start + taps) {
                let weight = values[index - first] / sum
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
