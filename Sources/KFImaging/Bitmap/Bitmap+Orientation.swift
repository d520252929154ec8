extension Bitmap {
    /// The bitmap turned as the orientation says; itself where there is nothing to turn.
    func oriented(_ orientation: Orientation) throws(ImagingError) -> Bitmap {
        if orientation == .upright { return self }
        let swap = orientation.swapsSides
        var result = try Bitmap(uninitialized: swap ? height : width, swap ? width : height, format)
        let map = orientation.map(width: width, height: height)
        let pixel = format.bytesPerPixel
        let origin = map.originY * bytesPerRow + map.originX * pixel
        let stepX = map.stepX.1 * bytesPerRow + map.stepX.0 * pixel
        let stepY = map.stepY.1 * bytesPerRow + map.stepY.0 * pixel
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                let start = source.base + origin
                switch pixel {
                case 1: try gather(UInt8.self, 1, from: start, stepX, stepY, into: target)
                case 2: try gather(UInt16.self, 1, from: start, stepX, stepY, into: target)
                case 4: try gather(UInt32.self, 1, from: start, stepX, stepY, into: target)
                case 8: try gather(UInt64.self, 1, from: start, stepX, stepY, into: target)
                case 3: try gather(UInt8.self, 3, from: start, stepX, stepY, into: target)
                default: try gather(UInt16.self, 3, from: start, stepX, stepY, into: target)
                }
            }
        }
        return result
    }
}

/// Fills the target pixel by pixel, going through the source in steps of bytes. It works in tiles, as a turned
/// picture is read down its columns, and a column of a large one touches a new page with every pixel.
@inline(__always)
private func gather<Unit>(
    _ unit: Unit.Type, _ units: Int, from start: UnsafeRawPointer, _ stepX: Int, _ stepY: Int,
    into target: MutableBitmapRows
) throws(ImagingError) {
    let tile = 32
    var pace = Pace()
    var top = 0
    while top < target.height {
        let bottom = min(top + tile, target.height)
        var left = 0
        while left < target.width {
            let right = min(left + tile, target.width)
            try pace.advance((right - left) * (bottom - top))
            for y in top..<bottom {
                var output = (target.base + y * target.bytesPerRow).assumingMemoryBound(to: Unit.self) + left * units
                var input = start + y * stepY + left * stepX
                for _ in left..<right {
                    let samples = input.assumingMemoryBound(to: Unit.self)
                    for index in 0..<units { output[index] = samples[index] }
                    output += units
                    input += stepX
                }
            }
            left = right
        }
        top = bottom
    }
}
