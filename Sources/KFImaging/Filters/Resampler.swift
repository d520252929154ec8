import CImageCodecs
import Glibc
import Synchronization

/// Resizes with Lanczos-3, some rows at a time, and rounds once at the end; 16 bits stay 16.
final class Resampler {
    private let band: ResampleBand
    /// The picture; complete once every source row has been pushed.
    private(set) var result: Bitmap

    /// `extent` is the part of the source that counts; nil is all of it. `sharpening` is explained at `LanczosWeights`.
    init(
        source: PixelSize, extent: (width: Double, height: Double)? = nil, format: PixelFormat, target: PixelSize,
        sharpening: Double = 0
    ) throws(ImagingError) {
        let weights = try ResampleWeights(source, extent, target, sharpening)
        result = try Bitmap(uninitialized: target.width, target.height, format)
        band = try ResampleBand(weights, format, 0..<target.height)
    }

    /// Resamples the next source rows, which have the result's format.
    func push(_ rows: UnsafeRawPointer, bytesPerRow: Int, count: Int) throws(ImagingError) {
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try band.push(rows, bytesPerRow: bytesPerRow, count: count, into: target)
        }
    }

    /// Returns the picture at this size. Bands of a large one are resampled on all cores; some rows of the source are
    /// narrowed for two bands.
    static func resize(
        _ bitmap: Bitmap, extent: (width: Double, height: Double)? = nil, to size: PixelSize, sharpening: Double = 0
    ) throws(ImagingError) -> Bitmap {
        if bitmap.size == size, sharpening == 0 { return bitmap }
        let weights = try ResampleWeights(bitmap.size, extent, size, sharpening)
        let bands = RowBands.split(width: max(bitmap.width, size.width), height: size.height, overlap: 3)
        var result = try Bitmap(uninitialized: size.width, size.height, bitmap.format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try bitmap.withUnsafeRows { (source) throws(ImagingError) in
                try RowBands.run(bands) { (rows) throws(ImagingError) in
                    let band = try ResampleBand(weights, source.format, rows)
                    let needed = band.needed
                    try band.push(
                        source.base + needed.lowerBound * source.bytesPerRow, bytesPerRow: source.bytesPerRow,
                        count: needed.count, into: target)
                }
            }
        }
        return result
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
private struct ResampleWeights {
    let source: PixelSize
    let target: PixelSize
    let horizontal: LanczosWeights
    let vertical: LanczosWeights

    init(
        _ source: PixelSize, _ extent: (width: Double, height: Double)?, _ target: PixelSize, _ sharpening: Double
    ) throws(ImagingError) {
        (self.source, self.target) = (source, target)
        horizontal = try .of(source.width, extent?.width, target.width, sharpening)
        vertical = try .of(source.height, extent?.height, target.height, sharpening)
    }
}

/// Resamples some rows of the target, and holds only the source rows that one target row needs.
private final class ResampleBand {
    private let weights: ResampleWeights
    private var plan = kf_resample()
    private let end: Int
    private var pushed: Int
    private var emitted: Int
    private var pace = Pace()

    init(_ weights: ResampleWeights, _ format: PixelFormat, _ rows: Range<Int>) throws(ImagingError) {
        self.weights = weights
        (emitted, end) = (rows.lowerBound, rows.upperBound)
        pushed = rows.lowerBound == 0 ? 0 : Int(weights.vertical.starts[rows.lowerBound])
        plan.target = weights.target.width
        plan.channels = UInt32(clamping: format.channelCount)
        plan.depth = UInt32(clamping: format.depth.rawValue)
        plan.starts = UnsafePointer(weights.horizontal.starts)
        plan.weights = UnsafePointer(weights.horizontal.weights)
        plan.taps = weights.horizontal.taps
        // A batch of rows must not take the place of those that the next target row still needs.
        plan.slots = weights.vertical.taps + ResampleBand.batch - 1
        let (size, overflow) = kf_resample_row(&plan).multipliedReportingOverflow(by: plan.slots)
        if overflow { throw .outOfMemory(bytes: Int.max) }
        // One allocation, so that only one can fail.
        plan.ring = try Scratch.take(Float.self, size + kf_resample_work(&plan))
        plan.work = plan.ring + size
    }

    deinit {
        Scratch.give(plan.ring)
    }

    /// The number of rows that are narrowed side by side.
    private static let batch = Int(KF_RESAMPLE_ROWS)

    /// The source rows to push, in their order.
    var needed: Range<Int> { pushed..<Int(weights.vertical.starts[end - 1]) + weights.vertical.taps }

    /// Resamples the next source rows, and writes the rows of the target that they complete.
    func push(
        _ rows: UnsafeRawPointer, bytesPerRow: Int, count: Int, into target: MutableBitmapRows
    ) throws(ImagingError) {
        let (vertical, columns) = (weights.vertical, weights.source.width + plan.target * plan.taps)
        for first in stride(from: 0, to: count, by: ResampleBand.batch) {
            let batch = min(ResampleBand.batch, count - first)
            try pace.advance(batch * columns)
            kf_resample_columns(&plan, rows + first * bytesPerRow, bytesPerRow, batch, pushed)
            pushed += batch
            while emitted < end, Int(vertical.starts[emitted]) + vertical.taps <= pushed {
                try pace.advance(plan.target * vertical.taps)
                kf_resample_rows(
                    &plan, Int(vertical.starts[emitted]), vertical.weights + emitted * vertical.taps, vertical.taps,
                    target.base + emitted * target.bytesPerRow)
                emitted += 1
            }
        }
    }
}

/// The weights for resampling one axis: a run of source positions for each target position.
///
/// For reduction the kernel is widened to cover every source pixel, so that fine detail is averaged and not skipped.
///
/// The latest small ones are kept, because a data set has few sizes.
final class LanczosWeights: Sendable {
    /// The number of weights of each position; shorter runs end in zeros.
    let taps: Int
    /// The first source position of each run. All `taps` positions lie inside the source.
    nonisolated(unsafe) let starts: UnsafeMutablePointer<Int32>
    /// `taps` weights for each position, with a sum of one.
    nonisolated(unsafe) let weights: UnsafeMutablePointer<Float>

    private struct Size: Equatable {
        let source: Int
        let extent: Double
        let target: Int
        let sharpening: Double
    }

    private static let latest = Mutex<[(size: Size, weights: LanczosWeights)]>([])

    /// Returns the weights for an axis, whose extent is the source by default.
    static func of(
        _ source: Int, _ extent: Double?, _ target: Int, _ sharpening: Double = 0
    ) throws(ImagingError) -> LanczosWeights {
        let size = Size(source: source, extent: extent ?? Double(source), target: target, sharpening: sharpening)
        if let kept = latest.withLock({ $0.first { $0.size == size }?.weights }) { return kept }
        let weights = try LanczosWeights(size)
        if target * weights.taps <= 1 << 14 {
            latest.withLock { latest in
                if latest.count == 8 { latest.removeFirst() }
                latest.append((size, weights))
            }
        }
        return weights
    }

    /// `extent` is the length of the source that counts. A picture decoded at an eighth of its size has a last column
    /// that the full picture fills only in part.
    ///
    /// `sharpening` restores fine detail that a decode at a reduced size has dimmed. The weights are those for a source
    /// that was first filtered with (-s, 1 + 2s, -s).
    private init(_ size: Size) throws(ImagingError) {
        let (source, target, sharpening) = (size.source, size.target, size.sharpening)
        let scale = size.extent / Double(target)
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
