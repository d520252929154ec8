/// What is drawn with shapes: corners cut off and edges stroked. The bitmaps have 8 bits.
enum ShapeDrawing {
    /// The picture inside the shape, over the background.
    static func clip(
        _ bitmap: Bitmap, to shape: RoundedRectangle, over background: Color
    ) throws(ImagingError) -> Bitmap {
        let isOpaque = background.alpha == 255
        let source = try bitmap.expanded(color: !background.isGray && background.alpha > 0, alpha: !isOpaque)
        let (step, width, colors) = (source.format.channelCount, source.width, source.format.isGray ? 1 : 3)
        let hasAlpha = source.format.hasAlpha
        let channels: PixelFormat.Channels =
            source.format.isGray ? (isOpaque ? .gray : .grayAlpha) : (isOpaque ? .rgb : .rgba)
        let count = channels.rawValue
        let behind = Pixel(background, isGray: source.format.isGray)
        return try mapCoveredRows(source, to: channels, [shape]) { coverage, row, output in
            for x in 0..<width {
                let (input, pixel) = (row + x * step, output + x * count)
                var color = Pixel(SIMD4<Float>(0, 0, 0, hasAlpha ? Float(input[step - 1]) / 255 : 1))
                for channel in 0..<colors { color.value[channel] = Float(input[channel]) }
                color.value.w *= coverage[x]
                color.over(behind).store(pixel, colors: colors, hasAlpha: !isOpaque)
            }
        }
    }

    /// The picture with a colour over what is inside the first shape and not inside the second.
    static func stroke(
        _ bitmap: Bitmap, _ outer: RoundedRectangle, without inner: RoundedRectangle?, _ stroke: Color
    ) throws(ImagingError) -> Bitmap {
        let source = try bitmap.expanded(color: !stroke.isGray && stroke.alpha > 0, alpha: false)
        let (step, width, colors) = (source.format.channelCount, source.width, source.format.isGray ? 1 : 3)
        let hasAlpha = source.format.hasAlpha
        let top = Pixel(stroke, isGray: source.format.isGray)
        let shapes = [outer] + (inner.map { [$0] } ?? [])
        return try mapCoveredRows(source, to: source.format.channels, shapes) { coverage, row, output in
            output.update(from: row, count: width * step)
            for x in 0..<width {
                let covered = coverage[x] - (shapes.count > 1 ? coverage[width + x] : 0)
                if covered <= 0 { continue }
                let pixel = output + x * step
                var color = Pixel(SIMD4<Float>(0, 0, 0, hasAlpha ? Float(pixel[step - 1]) / 255 : 1))
                for channel in 0..<colors { color.value[channel] = Float(pixel[channel]) }
                var above = top
                above.value.w *= min(covered, 1)
                above.over(color).store(pixel, colors: colors, hasAlpha: hasAlpha)
            }
        }
    }

    /// Gives every row with how much each of the shapes covers of its pixels, one shape's after the other's.
    private static func mapCoveredRows(
        _ source: Bitmap, to channels: PixelFormat.Channels, _ shapes: [RoundedRectangle],
        _ change: (UnsafePointer<Float>, UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>) -> Void
    ) throws(ImagingError) -> Bitmap {
        let width = source.width
        var result = try Bitmap(uninitialized: width, source.height, PixelFormat(channels))
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try source.withUnsafeRows { (rows) throws(ImagingError) in
                let bands = RowBands.split(width: width, height: rows.height)
                try RowBands.run(bands) { (band) throws(ImagingError) in
                    let coverage = try Scratch.take(Float.self, width * shapes.count)
                    defer { Scratch.give(coverage) }
                    var pace = Pace()
                    for y in band {
                        try pace.advance(width * 4)
                        for (index, shape) in shapes.enumerated() {
                            shape.cover(row: y, coverage + index * width, width)
                        }
                        change(coverage, rows.row(y), target.row(y))
                    }
                }
            }
        }
        return result
    }
}

/// Colours from 0 to 255, not premultiplied, and alpha from 0 to 1; a grey pixel's colour is in the first lane.
private struct Pixel {
    var value: SIMD4<Float>

    init(_ value: SIMD4<Float>) {
        self.value = value
    }

    init(_ color: Color, isGray: Bool) {
        value = SIMD4(Float(color.red), Float(color.green), Float(color.blue), Float(color.alpha) / 255)
        if isGray { (value.y, value.z) = (0, 0) }
    }

    func over(_ below: Pixel) -> Pixel {
        let (alpha, rest) = (value.w, below.value.w * (1 - value.w))
        // Not by way of a division where one of them is all there is, so that its colour stays what it is.
        if rest == 0 { return self }
        if alpha == 0 { return below }
        var result = (value * alpha + below.value * rest) / (alpha + rest)
        result.w = alpha + rest
        return Pixel(result)
    }

    @inline(__always)
    func store(_ pixel: UnsafeMutablePointer<UInt8>, colors: Int, hasAlpha: Bool) {
        for channel in 0..<colors { pixel[channel] = UInt8(truncatingIfNeeded: Int32(min(value[channel], 255) + 0.5)) }
        if hasAlpha { pixel[colors] = UInt8(truncatingIfNeeded: Int32(min(value.w, 1) * 255 + 0.5)) }
    }
}
