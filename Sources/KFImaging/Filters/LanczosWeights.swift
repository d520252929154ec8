import Glibc

/// The weights by which one axis is resampled: for each target position a run of source positions.
///
/// On the way down the kernel is widened to cover every source pixel, so that fine detail is averaged and not
/// skipped.
struct LanczosWeights {
    /// How many weights every position has; runs that are shorter end in zeros.
    let taps: Int
    /// The first source position of each run. A run never reaches past the source's end.
    let starts: [Int32]
    /// `taps` weights for each position, summing to one.
    let weights: [Float]

    init(source: Int, target: Int) {
        let scale = Double(source) / Double(target)
        let width = max(scale, 1)
        let support = 3 * width
        let taps = min(source, Int(support.rounded(.up)) * 2 + 1)
        var starts = [Int32](repeating: 0, count: target)
        var weights = [Float](repeating: 0, count: target * taps)
        var run = [Double](repeating: 0, count: taps)
        for position in 0..<target {
            let center = (Double(position) + 0.5) * scale
            let first = max(0, Int(center - support + 0.5))
            let end = min(source, Int(center + support + 0.5))
            let count = min(end - first, taps)
            // Moved down where the padded run would leave the source.
            let start = min(first, source - taps)
            var sum = 0.0
            for index in 0..<count {
                run[index] = LanczosWeights.kernel((Double(first + index) - center + 0.5) / width)
                sum += run[index]
            }
            for index in 0..<count { weights[position * taps + first - start + index] = Float(run[index] / sum) }
            starts[position] = Int32(start)
        }
        self.taps = taps
        self.starts = starts
        self.weights = weights
    }

    private static func kernel(_ x: Double) -> Double {
        if x == 0 { return 1 }
        if abs(x) >= 3 { return 0 }
        let angle = Double.pi * x
        return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
    }
}
