/// A patch of a frame as indexes into a palette of its own.
struct PatchIndexes {
    private(set) var bytes: [UInt8] = []
    /// Of the bytes.
    private let memory: MemoryReservation
    /// RGB, three bytes a colour; at least two colours.
    private(set) var palette: [UInt8] = []
    /// The index of the pixels that are not drawn, where there are any.
    private(set) var transparent: UInt8?

    /// The patch's pixels are RGBA, all zero for those that are not drawn. Up to 256 colours stay as they are.
    init(_ patch: FrameDifference.Patch, of pixels: Bitmap) throws(ImagingError) {
        memory = try MemoryReservation(patch.width * patch.height)
        bytes.reserveCapacity(patch.width * patch.height)
        var colors: [UInt32]
        if let table = try exactTable(patch, pixels) {
            colors = table.colors
        } else {
            colors = try quantize(patch, pixels)
        }
        if let clear = colors.firstIndex(of: 0) { transparent = UInt8(clear) }
        while colors.count < 2 { colors.append(0) }
        palette = colors.flatMap { color in (0..<3).map { UInt8(truncatingIfNeeded: color >> ($0 * 8)) } }
    }

    /// False as soon as the body says so of a row.
    private static func rows(
        _ patch: FrameDifference.Patch, _ pixels: Bitmap, _ body: (UnsafeBufferPointer<UInt32>) -> Bool
    ) throws(ImagingError) -> Bool {
        try pixels.withUnsafeRows { (rows) throws(ImagingError) in
            var pace = Pace()
            for y in patch.top..<patch.top + patch.height {
                try pace.advance(patch.width * 4)
                guard body(UnsafeBufferPointer(start: rows.pixels(y) + patch.left, count: patch.width)) else {
                    return false
                }
            }
            return true
        }
    }

    private mutating func exactTable(
        _ patch: FrameDifference.Patch, _ pixels: Bitmap
    ) throws(ImagingError) -> ColorTable? {
        var table = ColorTable()
        var bytes = self.bytes
        let fits = try PatchIndexes.rows(patch, pixels) { row in
            var last: (color: UInt32, index: UInt8)?
            for color in row {
                if last?.color != color {
                    guard let index = table.index(of: color) else { return false }
                    last = (color, index)
                }
                bytes.append(last?.index ?? 0)
            }
            return true
        }
        if fits { self.bytes = bytes }
        return fits ? table : nil
    }

    private mutating func quantize(_ patch: FrameDifference.Patch, _ pixels: Bitmap) throws(ImagingError) -> [UInt32] {
        var quantizer = Quantizer()
        var leavesOut = false
        _ = try PatchIndexes.rows(patch, pixels) { row in
            for color in row {
                if color == 0 { leavesOut = true } else { quantizer.count(color) }
            }
            return true
        }
        // With the opaque bit set, no colour can be taken for the one that is not drawn.
        var colors = try quantizer.palette(limit: leavesOut ? 255 : 256).map { $0 | 0xFF00_0000 }
        let clear = UInt8(truncatingIfNeeded: colors.count)
        if leavesOut { colors.append(0) }
        let numbers = quantizer.numbers
        var bytes = self.bytes
        _ = try PatchIndexes.rows(patch, pixels) { row in
            numbers.withUnsafeBufferPointer { numbers in
                for color in row { bytes.append(color == 0 ? clear : numbers[Quantizer.cell(color)]) }
            }
            return true
        }
        self.bytes = bytes
        return colors
    }
}
