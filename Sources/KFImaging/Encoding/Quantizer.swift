/// Reduces many colours to a palette of a few.
///
/// Colours are counted in cells of 6 bits a channel. A box of cells is cut where that reduces the squared error most,
/// until the palette is full. Three rounds of k-means then refine the colours.
struct Quantizer {
    /// The sums over the pixels of a cell or box.
    fileprivate struct Weight {
        var count: Double = 0
        var sum = SIMD3<Double>.zero

        mutating func add(_ other: Weight) {
            count += other.count
            sum += other.sum
        }

        var mean: SIMD3<Double> { sum / max(count, 1) }
        /// The part of the sum of squares that the mean explains: larger is better.
        var energy: Double { count > 0 ? (sum * sum).sum() / count : 0 }
    }

    private var cells: [Weight]
    /// The palette index of each cell.
    private(set) var numbers: [UInt8] = []

    init() {
        cells = [Weight](repeating: Weight(), count: 1 << 18)
    }

    /// The cell of a colour, which has red in the lowest byte.
    @inline(__always)
    static func cell(_ color: UInt32) -> Int {
        let red: UInt32 = color >> 2 & 0x3F
        let green: UInt32 = color >> 10 & 0x3F
        let blue: UInt32 = color >> 18 & 0x3F
        return Int(red | green << 6 | blue << 12)
    }

    mutating func count(_ color: UInt32) {
        let channels = SIMD3(Double(color & 255), Double(color >> 8 & 255), Double(color >> 16 & 255))
        let cell = Quantizer.cell(color)
        cells[cell].count += 1
        cells[cell].sum += channels
    }

    /// Returns at most `limit` colours with red in the lowest byte, and fills `numbers`.
    mutating func palette(limit: Int) throws(ImagingError) -> [UInt32] {
        let used = cells.indices.filter { cells[$0].count > 0 }
        var means = Quantizer.split(used.map { cells[$0] }, limit)
        numbers = [UInt8](repeating: 0, count: cells.count)
        for _ in 0..<3 {
            try assign(used, means)
            var sums = [Weight](repeating: Weight(), count: means.count)
            for cell in used { sums[Int(numbers[cell])].add(cells[cell]) }
            for index in means.indices where sums[index].count > 0 { means[index] = sums[index].mean }
        }
        let colors = means.map { mean -> SIMD3<UInt32> in
            let rounded = (mean + 0.5).clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255))
            return SIMD3<UInt32>(truncatingIfNeeded: SIMD3<Int>(rounded, rounding: .down))
        }
        try assign(used, colors.map { SIMD3<Double>($0) })
        return colors.map { $0[0] | $0[1] << 8 | $0[2] << 16 }
    }

    private mutating func assign(_ used: [Int], _ means: [SIMD3<Double>]) throws(ImagingError) {
        let points = means.map { SIMD4(Float($0[0]), Float($0[1]), Float($0[2]), 0) }
        var pace = Pace()
        for cell in used {
            try pace.advance(points.count)
            let mean = cells[cell].mean
            let color = SIMD4(Float(mean[0]), Float(mean[1]), Float(mean[2]), 0)
            var (best, least) = (0, Float.infinity)
            for index in points.indices {
                let difference = points[index] - color
                let distance = (difference * difference).sum()
                if distance < least { (best, least) = (index, distance) }
            }
            numbers[cell] = UInt8(best)
        }
    }
}

extension Quantizer {
    /// A run of cells and the best place to cut it.
    private struct Box {
        var range: Range<Int>
        var axis = 0
        var cut = 0
        /// The reduction of the squared error by the cut; 0 when the box cannot be cut.
        var gain = 0.0
    }

    /// Returns the mean colours of the boxes.
    private static func split(_ weights: [Weight], _ limit: Int) -> [SIMD3<Double>] {
        guard !weights.isEmpty else { return [.zero] }
        var weights = weights
        var boxes = [measured(weights.startIndex..<weights.endIndex, &weights)]
        while boxes.count < limit {
            guard let largest = boxes.indices.max(by: { boxes[$0].gain < boxes[$1].gain }), boxes[largest].gain > 0
            else { break }
            let box = boxes[largest]
            weights[box.range].sort { $0.mean[box.axis] < $1.mean[box.axis] }
            boxes[largest] = measured(box.range.lowerBound..<box.cut, &weights)
            boxes.append(measured(box.cut..<box.range.upperBound, &weights))
        }
        return boxes.map { box in
            var whole = Weight()
            for weight in weights[box.range] { whole.add(weight) }
            return whole.mean
        }
    }

    /// Finds the axis with the largest variance, and the cut with the smallest error.
    private static func measured(_ range: Range<Int>, _ weights: inout [Weight]) -> Box {
        var box = Box(range: range)
        guard range.count > 1 else { return box }
        var whole = Weight()
        var squares = SIMD3<Double>.zero
        for weight in weights[range] {
            whole.add(weight)
            squares += weight.sum * weight.mean
        }
        let variance = squares - whole.sum * whole.mean
        box.axis =
            variance[1] >= variance[0] ? (variance[2] > variance[1] ? 2 : 1) : (variance[2] > variance[0] ? 2 : 0)
        let axis = box.axis
        weights[range].sort { $0.mean[axis] < $1.mean[axis] }
        var left = Weight()
        for index in range.dropLast() {
            left.add(weights[index])
            let right = Weight(count: whole.count - left.count, sum: whole.sum - left.sum)
            let gain = left.energy + right.energy - whole.energy
            if gain > box.gain { (box.gain, box.cut) = (gain, index + 1) }
        }
        return box
    }
}

/// Up to 256 distinct colours, numbered in the order of their appearance.
struct ColorTable {
    private(set) var colors: [UInt32] = []
    /// A hash table with open addressing; a slot holds a colour's number plus one.
    private var slots = [UInt16](repeating: 0, count: 1024)

    /// Calls `put` with the number of each colour of a row; false when the table is full.
    @inline(__always)
    mutating func number(_ count: Int, _ color: (Int) -> UInt32, _ put: (Int, UInt8) -> Void) -> Bool {
        var last: (color: UInt32, index: UInt8)?
        for x in 0..<count {
            let color = color(x)
            if last?.color != color {
                guard let index = index(of: color) else { return false }
                last = (color, index)
            }
            put(x, last?.index ?? 0)
        }
        return true
    }

    /// Returns the number of a colour and adds the colour if it is new; nil when the table is full.
    private mutating func index(of color: UInt32) -> UInt8? {
        var slot = Int((color &* 0x9E37_79B1) >> 22)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if colors[number] == color { return UInt8(number) }
            slot = (slot + 1) & 1023
        }
        guard colors.count < 256 else { return nil }
        colors.append(color)
        slots[slot] = UInt16(colors.count)
        return UInt8(colors.count - 1)
    }
}
