import CImageCodecs

extension GIFCodec {
    /// Encodes GIF, still or animated. Each frame has its own palette and contains only the pixels that changed.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        // The format has no place for a profile.
        let image = try image.convertedToSRGB()
        let writer = try CodecHandle(writing: image, as: .gif, longestSide: 65_535, kf_gif_writer_create)
        try writer.check(
            kf_gif_writer_start(
                writer.pointer, UInt32(clamping: image.width), UInt32(clamping: image.height), repetitions(image)))
        var difference = try FrameDifference(width: image.width, height: image.height)
        var current = try image.frames[0].bitmap.opaqueOrClear(onto: options.background)
        var clock = GIFClock()
        for index in image.frames.indices {
            let next =
                index + 1 < image.frames.count
                ? try image.frames[index + 1].bitmap.opaqueOrClear(onto: options.background) : nil
            let patch = try difference.patch(current, before: next, isFirst: index == 0)
            let indexes = try PatchIndexes(patch, of: difference.changes)
            var frame = kf_gif_frame()
            (frame.left, frame.top) = (UInt32(clamping: patch.left), UInt32(clamping: patch.top))
            (frame.width, frame.height) = (UInt32(clamping: patch.width), UInt32(clamping: patch.height))
            frame.disposal = image.isAnimated ? (patch.isClearedAfter ? 2 : 1) : 0
            frame.transparent = indexes.transparent.map { Int32(clamping: $0) } ?? -1
            frame.delay = image.isAnimated ? clock.hundredths(image.frames[index].delay) : 0
            try indexes.palette.withUnsafeBufferPointer { (palette) throws(ImagingError) in
                frame.palette = palette.baseAddress
                frame.palette_count = UInt32(clamping: palette.count / 3)
                try writer.check(kf_gif_writer_frame(writer.pointer, &frame))
            }
            try indexes.bytes.withUnsafeBufferPointer { (bytes) throws(ImagingError) in
                guard let first = bytes.baseAddress else { return }
                var pace = Pace()
                let step = Deadline.rowsPerLook(width: patch.width)
                for y in stride(from: 0, to: patch.height, by: step) {
                    let count = min(step, patch.height - y)
                    try pace.advance(count * patch.width)
                    try writer.check(
                        kf_gif_writer_rows(writer.pointer, first + y * patch.width, UInt32(clamping: count)))
                }
            }
            if let next { current = next }
        }
        return try writer.file(kf_gif_writer_finish)
    }

    /// The file states repetitions, one less than the number of plays. Without a loop extension it plays once.
    private func repetitions(_ image: Image) -> Int32 {
        guard image.isAnimated, image.loopCount != 1 else { return -1 }
        return Int32(clamping: min(max(image.loopCount - 1, 0), 65_535))
    }
}

/// Rounds the delays of an animation to hundredths of a second, and carries the errors on so that they do not add up.
private struct GIFClock {
    private var error = Duration.zero

    /// Returns at least 2, because readers replace shorter delays.
    mutating func hundredths(_ delay: Duration) -> UInt32 {
        let time = delay + error
        let (seconds, attoseconds) = time.components
        let milliseconds = min(seconds, 655) * 1000 + attoseconds / 1_000_000_000_000_000
        let rounded = UInt32(clamping: min(max((milliseconds + 5) / 10, 2), 65_535))
        error = time - .milliseconds(Int(rounded) * 10)
        // A larger error is that of a bound, and not carried on.
        if max(error, .zero - error) > .milliseconds(5) { error = .zero }
        return rounded
    }
}

/// Finds the part of an animation's frame that differs from the canvas.
struct FrameDifference {
    /// The canvas: RGBA, where transparent pixels are 0.
    private var shown: Bitmap
    /// The pixels of the last patch at their place on the canvas; 0 where nothing is drawn.
    private(set) var changes: Bitmap

    init(width: Int, height: Int) throws(ImagingError) {
        shown = try Bitmap(width: width, height: height, format: .rgba)
        changes = try Bitmap(width: width, height: height, format: .rgba)
    }

    /// Draws the frame onto the canvas and returns the rectangle that changed. The first patch is the whole canvas.
    ///
    /// Pixels that are transparent in the next frame must lie in the patch of this one, which is then cleared.
    mutating func patch(_ frame: Bitmap, before next: Bitmap?, isFirst: Bool) throws(ImagingError) -> Patch {
        var patch = Patch()
        if isFirst { patch.add(left: 0, right: frame.width, y: 0, frame.height) }
        try collect(frame, into: &patch)
        if let next { try FrameDifference.uncover(frame, next, into: &patch) }
        shown = frame
        // A frame has at least one pixel.
        if patch.right == 0 { patch.add(left: 0, right: 1, y: 0, 1) }
        if patch.isClearedAfter {
            try shown.clear(left: patch.left, top: patch.top, width: patch.width, height: patch.height)
        }
        return patch
    }

    private mutating func collect(_ frame: Bitmap, into patch: inout Patch) throws(ImagingError) {
        try changes.withUnsafeMutableRows { (target) throws(ImagingError) in
            try frame.withUnsafeRows { (frame) throws(ImagingError) in
                try shown.withUnsafeRows { (shown) throws(ImagingError) in
                    var pace = Pace()
                    for y in 0..<frame.height {
                        try pace.advance(frame.width)
                        let (new, old, output) = (frame.pixels(y), shown.pixels(y), target.pixels(y))
                        var (first, last) = (frame.width, -1)
                        for x in 0..<frame.width {
                            let differs = new[x] != old[x]
                            output[x] = differs ? new[x] : 0
                            if differs {
                                if first > x { first = x }
                                last = x
                            }
                        }
                        if last >= 0 { patch.add(left: first, right: last + 1, y: y, 1) }
                    }
                }
            }
        }
    }

    /// Adds the pixels that are opaque in the first frame and transparent in the second, before which they are cleared.
    private static func uncover(_ frame: Bitmap, _ next: Bitmap, into patch: inout Patch) throws(ImagingError) {
        try frame.withUnsafeRows { (frame) throws(ImagingError) in
            try next.withUnsafeRows { (next) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<frame.height {
                    try pace.advance(frame.width)
                    let (new, old) = (next.pixels(y), frame.pixels(y))
                    for x in 0..<frame.width where new[x] == 0 && old[x] != 0 {
                        patch.add(left: x, right: x + 1, y: y, 1)
                        patch.isClearedAfter = true
                    }
                }
            }
        }
    }
}

/// A rectangle of a frame: the bounding box of the areas that were added.
struct Patch {
    private(set) var left = Int.max
    private(set) var top = Int.max
    fileprivate private(set) var right = 0
    private var bottom = 0
    /// Whether the rectangle is cleared before the next frame.
    fileprivate(set) var isClearedAfter = false

    var width: Int { right - left }
    var height: Int { bottom - top }

    mutating func add(left: Int, right: Int, y: Int, _ height: Int) {
        self.left = min(self.left, left)
        self.right = max(self.right, right)
        top = min(top, y)
        bottom = max(bottom, y + height)
    }
}

extension BitmapRows {
    /// A row of RGBA, one word a pixel.
    func pixels(_ index: Int) -> UnsafePointer<UInt32> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt32.self)
    }
}

extension MutableBitmapRows {
    /// A row of RGBA, one word a pixel.
    func pixels(_ index: Int) -> UnsafeMutablePointer<UInt32> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt32.self)
    }
}

/// A patch of a frame as indices into its own palette.
struct PatchIndexes {
    private(set) var bytes: [UInt8] = []
    /// Counts the memory of `bytes`.
    private let memory: MemoryReservation
    /// The colours as RGB, three bytes each; at least two.
    private(set) var palette: [UInt8] = []
    /// The index of the pixels that are not drawn, if any.
    private(set) var transparent: UInt8?

    /// The pixels are RGBA, with 0 for those that are not drawn. Up to 256 colours are kept exactly.
    init(_ patch: Patch, of pixels: Bitmap) throws(ImagingError) {
        memory = try MemoryReservation(patch.width * patch.height)
        bytes.reserveCapacity(patch.width * patch.height)
        var colors: [UInt32]
        if let table = try exactTable(patch, pixels) {
            colors = table.colors
        } else {
            colors = try quantize(patch, pixels)
        }
        if let clear = colors.firstIndex(of: 0) { transparent = UInt8(clamping: clear) }
        while colors.count < 2 { colors.append(0) }
        palette = colors.flatMap { color in (0..<3).map { UInt8(truncatingIfNeeded: color >> ($0 * 8)) } }
    }

    /// Calls `body` for each row until it returns false.
    private static func rows(
        _ patch: Patch, _ pixels: Bitmap, _ body: (UnsafeBufferPointer<UInt32>) -> Bool
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

    private mutating func exactTable(_ patch: Patch, _ pixels: Bitmap) throws(ImagingError) -> ColorTable? {
        var table = ColorTable()
        var bytes = self.bytes
        let fits = try PatchIndexes.rows(patch, pixels) { row in
            table.number(row.count, { row[$0] }, { bytes.append($1) })
        }
        if fits { self.bytes = bytes }
        return fits ? table : nil
    }

    private mutating func quantize(_ patch: Patch, _ pixels: Bitmap) throws(ImagingError) -> [UInt32] {
        var quantizer = Quantizer()
        var leavesOut = false
        _ = try PatchIndexes.rows(patch, pixels) { row in
            for color in row {
                if color == 0 { leavesOut = true } else { quantizer.count(color) }
            }
            return true
        }
        // With an alpha of 255, no colour equals 0, the mark of pixels that are not drawn.
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
