import Glibc

extension Bitmap {
    /// The bitmap in the middle of a canvas, offsets rounded down; a canvas that is smaller cuts it.
    ///
    /// Where the colour is seen and the format cannot hold it, the format becomes one that can.
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
                // The first row that is all colour serves the others.
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
