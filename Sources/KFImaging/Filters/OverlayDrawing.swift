import Glibc

/// Draws a picture over others of one size, blended with straight alpha and rounded once.
struct OverlayDrawing {
    /// 8 bits a sample.
    let picture: Bitmap
    let opacity: Float
    let anchor: CroppingImageProcessor.Anchor
    /// The distance from the edges and between tiles, in pixels.
    let margin: Int
    let isTiled: Bool

    /// Returns the canvas with the picture over it, in 8 bits a sample. Alpha stays, and colour is added where it is
    /// needed.
    func draw(over canvas: Bitmap) throws(ImagingError) -> Bitmap {
        let below = try canvas.reducedToEightBits().expanded(color: !picture.format.isGray, alpha: false)
        let above = try picture.expanded(to: PixelFormat(below.format.isGray ? .grayAlpha : .rgba))
        let left = starts(above.width, of: below.width, anchor.x)
        let top = starts(above.height, of: below.height, anchor.y)
        return try above.withUnsafeRows { (above) throws(ImagingError) in
            try below.mapBands(to: below.format) { (rows, target, band) throws(ImagingError) in
                var pace = Pace()
                for y in band {
                    try pace.advance(rows.width * 2)
                    memcpy(target.row(y), rows.row(y), rows.width * rows.format.channelCount)
                    let line = (y - top.first) % top.step
                    guard y >= top.first, line < above.height else { continue }
                    for start in stride(from: left.first, to: rows.width, by: left.step) {
                        let (first, end) = (max(start, 0), min(start + above.width, rows.width))
                        guard first < end else { continue }
                        let input = above.row(line) + (first - start) * above.format.channelCount
                        blend(input, over: target, y, first..<end)
                    }
                }
            }
        }
    }

    /// Where the first tile begins along one side, maybe before it, and the distance to the next.
    private func starts(_ length: Int, of whole: Int, _ anchor: Double) -> (first: Int, step: Int) {
        let place = margin + Int(clamping: (anchor * Double(whole - 2 * margin - length)).rounded(.down))
        let step = isTiled ? length + margin : 1 << 40
        return isTiled && place > 0 ? ((place % step) - step, step) : (place, step)
    }

    private func blend(
        _ above: UnsafePointer<UInt8>, over target: MutableBitmapRows, _ y: Int, _ columns: Range<Int>
    ) {
        let colors = target.format.isGray ? 1 : 3
        let (step, hasAlpha) = (target.format.channelCount, target.format.hasAlpha)
        let perUnit = opacity / 255
        var (input, output) = (above, target.row(y) + columns.lowerBound * step)
        for _ in columns {
            let alpha = Float(input[colors]) * perUnit
            if alpha > 0 {
                let rest = hasAlpha ? Float(output[colors]) / 255 * (1 - alpha) : 1 - alpha
                let whole = alpha + rest
                for channel in 0..<colors {
                    let mixed = (Float(input[channel]) * alpha + Float(output[channel]) * rest) / whole
                    output[channel] = UInt8(truncatingIfNeeded: Int32(min(mixed, 255) + 0.5))
                }
                if hasAlpha { output[colors] = UInt8(truncatingIfNeeded: Int32(min(whole, 1) * 255 + 0.5)) }
            }
            input += colors + 1
            output += step
        }
    }
}
