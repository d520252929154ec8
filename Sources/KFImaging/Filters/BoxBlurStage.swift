/// One vertical pass of a box blur: rows go in from the top, blurred rows come out `half` rows later.
struct BoxBlurStage<Pixel: SIMD> where Pixel.Scalar == Float {
    private let width: Int
    private let height: Int
    private let half: Int
    /// The last rows that went in; row y stands in slot y % slots. The row that has just left the box is still there.
    private let ring: UnsafeMutablePointer<Pixel>
    private let slots: Int
    private let sum: UnsafeMutablePointer<Pixel>
    /// The row that came out last.
    let output: UnsafeMutablePointer<Pixel>
    /// How many of the picture's rows have come, those before the first one that was needed included.
    private var pushed: Int
    private var emitted: Int
    private var isStarted = false

    /// The first row that comes out; the first that must go in is `half` rows above it, or the picture's first.
    init(width: Int, height: Int, half: Int, first: Int) throws(ImagingError) {
        emitted = first
        pushed = max(0, first - half)
        self.width = width
        self.height = height
        self.half = half
        slots = min(2 * half + 2, height)
        let (size, overflow) = slots.multipliedReportingOverflow(by: width)
        if overflow { throw .outOfMemory(bytes: Int.max) }
        ring = try Scratch.take(Pixel.self, size + 2 * width)
        sum = ring + size
        output = sum + width
    }

    func deallocate() {
        Scratch.give(ring)
    }

    /// Whether the rows that the next output looks at are all there.
    var canEmit: Bool { emitted < height && pushed > min(emitted + half, height - 1) }

    mutating func push(_ row: UnsafePointer<Pixel>) {
        (ring + pushed % slots * width).update(from: row, count: width)
        pushed += 1
    }

    /// Moves the box on to the next row.
    mutating func emit(_ pace: inout Pace) throws(ImagingError) {
        let share = 1 / Float(2 * half + 1)
        if !isStarted {
            try start(&pace)
            isStarted = true
        } else {
            let entering = slot(min(emitted + half, height - 1))
            let leaving = slot(max(emitted - 1 - half, 0))
            for x in 0..<width { sum[x] += entering[x] - leaving[x] }
        }
        for x in 0..<width { output[x] = sum[x] * share }
        emitted += 1
    }

    /// The box around the first row that comes out; above the picture stands its first row again and again.
    private func start(_ pace: inout Pace) throws(ImagingError) {
        let edge = max(0, half + 1 - emitted)
        if edge > 0 {
            let row = slot(0)
            for x in 0..<width { sum[x] = row[x] * Float(edge) }
        } else {
            sum.update(repeating: .zero, count: width)
        }
        for y in emitted - half + edge...emitted + half {
            // A box is up to thousands of rows high, and a row up to a million pixels wide.
            try pace.advance(width)
            let row = slot(min(y, height - 1))
            for x in 0..<width { sum[x] += row[x] }
        }
    }

    private func slot(_ row: Int) -> UnsafeMutablePointer<Pixel> {
        ring + row % slots * width
    }
}
