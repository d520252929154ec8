import Glibc

/// The weights by which one axis is resampled: for each target position a run of source positions.
///
/// On the way down the kernel is widened to cover every source pixel, so that fine detail is averaged and not
/// skipped.
final class LanczosWeights {
    /// How many weights every position has; runs that are shorter end in zeros.
    let taps: Int
    /// The first source position of each run. A run never reaches past the source's end.
    let starts: UnsafeMutablePointer<Int32>
    /// `taps` weights for each position, summing to one.
    let weights: UnsafeMutablePointer<Float>

    /// The extent is how much of the source's last pixel counts: a picture decoded at an eighth of its size has a last
    /// column that the full one only partly fills. Sharpening makes up for what a decode at a reduced size has taken
    /// from fine detail: the weights are those for a source that went through (-s, 1 + 2s, -s) first.
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
            // Moved down where the padded run would leave the source.
            let start = max(0, min(first - reach, source - taps))
            let run = weights + position * taps
            var sum = 0.0
            for index in 0..<count { sum += LanczosWeights.kernel((Double(first + index) - center + 0.5) / width) }
            for index in first..<min(end, start + taps) {
                let weight = LanczosWeights.kernel((Double(index) - center + 0.5) / width) / sum
                // Where a neighbour is missing, the pixel stands in for it.
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
