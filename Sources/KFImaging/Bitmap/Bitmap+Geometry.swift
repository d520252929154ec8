import Glibc

extension Bitmap {
    /// Returns the bitmap turned upright from this orientation.
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

/// Copies pixels to the target from a source that is walked in steps of bytes.
///
/// It works in tiles. A turned picture is read down its columns, and a column of a large one touches a new page with
/// every pixel.
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

extension Bitmap {
    /// Returns a rectangle of the bitmap; it must lie inside.
    func cropped(to part: PixelRectangle) throws(ImagingError) -> Bitmap {
        try cropped(x: part.x, y: part.y, width: part.size.width, height: part.size.height)
    }

    /// Returns a rectangle of the bitmap; it must lie inside.
    func cropped(x: Int, y: Int, width: Int, height: Int) throws(ImagingError) -> Bitmap {
        if x == 0, y == 0, width == self.width, height == self.height { return self }
        var result = try Bitmap(uninitialized: width, height, format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                let pixel = format.bytesPerPixel
                var pace = Pace()
                for row in 0..<height {
                    try pace.advance(width)
                    memcpy(target.row(row), source.row(y + row) + x * pixel, width * pixel)
                }
            }
        }
        return result
    }
}

extension Bitmap {
    /// Returns the bitmap centred on a canvas, with offsets rounded down. A smaller canvas crops it.
    ///
    /// When the colour shows and the format cannot hold it, the result has a format that can.
    func padded(to canvas: PixelSize, _ color: Color) throws(ImagingError) -> Bitmap {
        let kept = PixelSize(width: min(width, canvas.width), height: min(height, canvas.height))
        let part = try cropped(
            x: (width - kept.width) / 2, y: (height - kept.height) / 2, width: kept.width, height: kept.height)
        if kept == canvas { return part }
        let source = try part.expanded(color: !color.isGray, alpha: color.alpha < 255)
        var result = try Bitmap(uninitialized: canvas.width, canvas.height, source.format)
        let (left, top) = ((canvas.width - kept.width) / 2, (canvas.height - kept.height) / 2)
        let pixel = source.format.bytesPerPixel
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try source.withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                // The other rows are copies of the first.
                fill(target.base, color, source.format, canvas.width)
                for y in (1..<canvas.height).reversed() {
                    try pace.advance(canvas.width)
                    memcpy(target.row(y), target.row(0), canvas.width * pixel)
                }
                for y in 0..<kept.height {
                    try pace.advance(kept.width)
                    memcpy(target.row(top + y) + left * pixel, source.row(y), kept.width * pixel)
                }
            }
        }
        return result
    }
}

private func fill(_ row: UnsafeMutableRawPointer, _ color: Color, _ format: PixelFormat, _ count: Int) {
    let colors = format.isGray ? [color.red] : [color.red, color.green, color.blue]
    let samples = format.hasAlpha ? colors + [color.alpha] : colors
    switch format.depth {
    case .eight:
        let row = row.assumingMemoryBound(to: UInt8.self)
        for index in 0..<count * samples.count { row[index] = samples[index % samples.count] }
    case .sixteen:
        let row = row.assumingMemoryBound(to: UInt16.self)
        for index in 0..<count * samples.count { row[index] = UInt16(samples[index % samples.count]) * 257 }
    }
}
