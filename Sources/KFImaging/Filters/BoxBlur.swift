/// Runs a box filter over a bitmap one to three times, with edges extended, and rounds once at the end.
///
/// Rows and columns are independent: each row goes through all horizontal passes, then through one stage for each
/// vertical pass. A stage holds as many rows as the box is high; the whole picture is never held as floats. Bands of a
/// large picture are blurred in parallel, each starting at the rows above it that it needs.
enum BoxBlur {
    static func blur(_ bitmap: Bitmap, box: Int, passes: Int) throws(ImagingError) -> Bitmap {
        try bitmap.mapBands(to: bitmap.format, overlap: passes * (box / 2) * 2) {
            (source, target, band) throws(ImagingError) in
            if source.format.isGray {
                try blur(source, into: target, band, half: box / 2, passes, as: SIMD2<Float>.self)
            } else {
                try blur(source, into: target, band, half: box / 2, passes, as: SIMD4<Float>.self)
            }
        }
    }

    private static func blur<Pixel: SIMD>(
        _ source: BitmapRows, into target: MutableBitmapRows, _ band: Range<Int>, half: Int, _ passes: Int,
        as pixel: Pixel.Type
    ) throws(ImagingError) where Pixel.Scalar == Float {
        let (width, height) = (source.width, source.height)
        // A row with extended edges, and the row itself.
        let padded = try Scratch.take(Pixel.self, width + 2 * half + 1 + width)
        defer { Scratch.give(padded) }
        let row = padded + (width + 2 * half + 1)
        var stages: [BoxBlurStage<Pixel>] = []
        defer { stages.forEach { $0.deallocate() } }
        for pass in 1...passes {
            let first = max(0, band.lowerBound - (passes - pass) * half)
            stages.append(try BoxBlurStage(width: width, height: height, half: half, first: first))
        }
        var pace = Pace()
        var fed = max(0, band.lowerBound - passes * half)
        func nextRow() throws(ImagingError) {
            try pace.advance(width * passes * 8)
            PixelRow.load(source.base + fed * source.bytesPerRow, source.format, into: row, width)
            for _ in 0..<passes { runAlong(row, padded, width, half) }
            fed += 1
        }
        /// Makes a stage's next row; the stages before it make the rows that this one needs.
        func pull(_ index: Int) throws(ImagingError) {
            while !stages[index].canEmit {
                if index == 0 { try nextRow() } else { try pull(index - 1) }
                stages[index].push(index == 0 ? row : stages[index - 1].output)
            }
            try stages[index].emit(&pace)
        }
        for y in band {
            try pull(passes - 1)
            PixelRow.store(stages[passes - 1].output, to: target.row(y), target.format, width)
        }
    }

    /// Runs the box once along a row, in place.
    @inline(__always)
    private static func runAlong<Pixel: SIMD>(
        _ row: UnsafeMutablePointer<Pixel>, _ padded: UnsafeMutablePointer<Pixel>, _ width: Int, _ half: Int
    ) where Pixel.Scalar == Float {
        padded.update(repeating: row[0], count: half)
        (padded + half).update(from: row, count: width)
        (padded + half + width).update(repeating: row[width - 1], count: half + 1)
        let box = 2 * half + 1
        let share = 1 / Float(box)
        var sum = Pixel.zero
        for index in 0..<box { sum += padded[index] }
        for x in 0..<width {
            row[x] = sum * share
            sum += padded[x + box] - padded[x]
        }
    }
}

/// One vertical pass of a box blur: rows are pushed from the top, and blurred rows come out `half` rows later.
struct BoxBlurStage<Pixel: SIMD> where Pixel.Scalar == Float {
    private let width: Int
    private let height: Int
    private let half: Int
    /// The last rows that were pushed; row y is in slot y % slots. The row that has just left the box is still there.
    private let ring: UnsafeMutablePointer<Pixel>
    private let slots: Int
    private let sum: UnsafeMutablePointer<Pixel>
    /// The last blurred row.
    let output: UnsafeMutablePointer<Pixel>
    /// The number of rows pushed, plus the rows above the first that was needed.
    private var pushed: Int
    private var emitted: Int
    private var isStarted = false

    /// `first` is the first row to come out. The first row to push is `half` rows above it, or the picture's first.
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

    /// Whether all rows that the next output needs have been pushed.
    var canEmit: Bool { emitted < height && pushed > min(emitted + half, height - 1) }

    mutating func push(_ row: UnsafePointer<Pixel>) {
        (ring + pushed % slots * width).update(from: row, count: width)
        pushed += 1
    }

    /// Moves the box to the next row and blurs it into `output`.
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

    /// Sums the box around the first row to come out; above the picture, its first row is repeated.
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
