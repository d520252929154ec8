/// Tells what of an animation's frame must be drawn over what is shown already.
struct FrameDifference {
    struct Patch {
        var left, top, width, height: Int
        /// Whether its rectangle must be made transparent before the next frame.
        var isClearedAfter: Bool
    }

    /// What stands on the canvas; RGBA, all zero where it is transparent.
    private var shown: Bitmap
    /// The last patch's pixels where they stand on the canvas; all zero where nothing is to be drawn.
    private(set) var changes: Bitmap

    init(width: Int, height: Int) throws(ImagingError) {
        shown = try Bitmap(width: width, height: height, format: .rgba)
        changes = try Bitmap(width: width, height: height, format: .rgba)
    }

    /// Draws the frame onto the canvas. Where the next one lets through what this one covers, the covered part must
    /// lie in the patch, so that it can be cleared. The first patch is the whole canvas.
    mutating func patch(_ frame: Bitmap, before next: Bitmap?, isFirst: Bool) throws(ImagingError) -> Patch {
        var box = Box()
        if isFirst { box.add(left: 0, right: frame.width, y: 0, frame.height) }
        try collect(frame, into: &box)
        var uncovered = Box()
        if let next { uncovered = try FrameDifference.uncovered(frame, next) }
        box.add(uncovered)
        shown = frame
        // A frame has at least one pixel.
        if box.isEmpty { box.add(left: 0, right: 1, y: 0, 1) }
        let patch = Patch(
            left: box.left, top: box.top, width: box.right - box.left, height: box.bottom - box.top,
            isClearedAfter: !uncovered.isEmpty)
        if patch.isClearedAfter {
            try shown.clear(left: patch.left, top: patch.top, width: patch.width, height: patch.height)
        }
        return patch
    }

    private mutating func collect(_ frame: Bitmap, into box: inout Box) throws(ImagingError) {
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
                        if last >= 0 { box.add(left: first, right: last + 1, y: y, 1) }
                    }
                }
            }
        }
    }

    /// Where the first covers and the second does not.
    private static func uncovered(_ frame: Bitmap, _ next: Bitmap) throws(ImagingError) -> Box {
        var box = Box()
        try frame.withUnsafeRows { (frame) throws(ImagingError) in
            try next.withUnsafeRows { (next) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<frame.height {
                    try pace.advance(frame.width)
                    let (new, old) = (next.pixels(y), frame.pixels(y))
                    for x in 0..<frame.width where new[x] == 0 && old[x] != 0 {
                        box.add(left: x, right: x + 1, y: y, 1)
                    }
                }
            }
        }
        return box
    }
}

/// The smallest rectangle around what was added.
private struct Box {
    var left = Int.max
    var top = Int.max
    var right = 0
    var bottom = 0

    var isEmpty: Bool { right <= left }

    mutating func add(left: Int, right: Int, y: Int, _ height: Int) {
        self.left = min(self.left, left)
        self.right = max(self.right, right)
        top = min(top, y)
        bottom = max(bottom, y + height)
    }

    mutating func add(_ other: Box) {
        if !other.isEmpty { add(left: other.left, right: other.right, y: other.top, other.bottom - other.top) }
    }
}

extension BitmapRows {
    /// A row of RGBA, a word a pixel.
    func pixels(_ index: Int) -> UnsafePointer<UInt32> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt32.self)
    }
}

extension MutableBitmapRows {
    /// A row of RGBA, a word a pixel.
    func pixels(_ index: Int) -> UnsafeMutablePointer<UInt32> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt32.self)
    }
}
