import Glibc

/// Clips pictures to rounded rectangles and strokes their edges. The bitmaps have 8 bits a sample.
enum ShapeDrawing {
    /// Returns the picture inside the shape, over the background.
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
        let behind = SIMD4(background, isGray: source.format.isGray)
        return try mapCoveredRows(source, to: channels, [shape]) { coverage, row, output in
            for x in 0..<width {
                let (input, pixel) = (row + x * step, output + x * count)
                var color = SIMD4(0, 0, 0, hasAlpha ? Float(input[step - 1]) / 255 : 1)
                for channel in 0..<colors { color[channel] = Float(input[channel]) }
                color.w *= coverage[x]
                color.over(behind).store(pixel, colors: colors, hasAlpha: !isOpaque)
            }
        }
    }

    /// Returns the picture with a colour over the area between the outer and the inner shape.
    static func stroke(
        _ bitmap: Bitmap, _ outer: RoundedRectangle, without inner: RoundedRectangle?, _ stroke: Color
    ) throws(ImagingError) -> Bitmap {
        let source = try bitmap.expanded(color: !stroke.isGray && stroke.alpha > 0, alpha: false)
        let (step, width, colors) = (source.format.channelCount, source.width, source.format.isGray ? 1 : 3)
        let hasAlpha = source.format.hasAlpha
        let top = SIMD4(stroke, isGray: source.format.isGray)
        let shapes = [outer] + (inner.map { [$0] } ?? [])
        return try mapCoveredRows(source, to: source.format.channels, shapes) { coverage, row, output in
            output.update(from: row, count: width * step)
            for x in 0..<width {
                let covered = coverage[x] - (shapes.count > 1 ? coverage[width + x] : 0)
                if covered <= 0 { continue }
                let pixel = output + x * step
                var color = SIMD4(0, 0, 0, hasAlpha ? Float(pixel[step - 1]) / 255 : 1)
                for channel in 0..<colors { color[channel] = Float(pixel[channel]) }
                var above = top
                above.w *= min(covered, 1)
                above.over(color).store(pixel, colors: colors, hasAlpha: hasAlpha)
            }
        }
    }

    /// Calls `change` for every row with the coverage of its pixels by each shape, the shapes one after the other.
    private static func mapCoveredRows(
        _ source: Bitmap, to channels: PixelFormat.Channels, _ shapes: [RoundedRectangle],
        _ change: (UnsafePointer<Float>, UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>) -> Void
    ) throws(ImagingError) -> Bitmap {
        let width = source.width
        return try source.mapBands(to: PixelFormat(channels)) { (rows, target, band) throws(ImagingError) in
            let coverage = try Scratch.take(Float.self, width * shapes.count)
            defer { Scratch.give(coverage) }
            var pace = Pace()
            for y in band {
                try pace.advance(width * 4)
                for (index, shape) in shapes.enumerated() { shape.cover(row: y, coverage + index * width, width) }
                change(coverage, rows.row(y), target.row(y))
            }
        }
    }
}

/// A pixel with straight colours from 0 to 255 and alpha from 0 to 1; a grey value is in the first lane.
extension SIMD4<Float> {
    fileprivate init(_ color: Color, isGray: Bool) {
        self.init(Float(color.red), Float(color.green), Float(color.blue), Float(color.alpha) / 255)
        if isGray { (y, z) = (0, 0) }
    }

    fileprivate func over(_ below: Self) -> Self {
        let rest = below.w * (1 - w)
        // When only one of them is visible, no division rounds its colour.
        if rest == 0 { return self }
        if w == 0 { return below }
        var result = (self * w + below * rest) / (w + rest)
        result.w = w + rest
        return result
    }

    @inline(__always)
    fileprivate func store(_ pixel: UnsafeMutablePointer<UInt8>, colors: Int, hasAlpha: Bool) {
        for channel in 0..<colors {
            pixel[channel] = UInt8(truncatingIfNeeded: Int32(Swift.min(self[channel], 255) + 0.5))
        }
        if hasAlpha { pixel[colors] = UInt8(truncatingIfNeeded: Int32(Swift.min(w, 1) * 255 + 0.5)) }
    }
}

/// A rectangle with some rounded corners, which computes the exact area that it covers of each pixel.
struct RoundedRectangle {
    private let left: Double
    private let top: Double
    private let right: Double
    private let bottom: Double
    private let radius: Double
    private let corners: RectCorner

    /// Makes a rectangle of a picture's size, inset on every side. It may be empty.
    init(width: Int, height: Int, inset: Double = 0, radius: Double, corners: RectCorner) {
        left = inset
        top = inset
        right = Double(width) - inset
        bottom = Double(height) - inset
        self.radius = radius
        self.corners = corners
    }

    /// Writes the coverage of every pixel of a row, from 0 to 1, to the buffer.
    func cover(row: Int, _ coverage: UnsafeMutablePointer<Float>, _ width: Int) {
        let rows = (max(Double(row), top), min(Double(row + 1), bottom))
        guard right > left, rows.1 > rows.0 else {
            coverage.update(repeating: 0, count: width)
            return
        }
        let tall = rows.1 - rows.0
        coverage.update(repeating: Float(tall), count: width)
        // The columns outside the rectangle and those that its sides cut.
        for x in 0..<min(width, Int(clamping: left.rounded(.up))) {
            let wide = max(0, min(Double(x + 1), right) - max(Double(x), left))
            coverage[x] = Float(wide * tall)
            coverage[width - 1 - x] = coverage[x]
        }
        guard radius > 0 else { return }
        // The row as distances from the centres of the upper and of the lower corners.
        let upper = (top + radius - rows.1, top + radius - rows.0)
        let lower = (rows.0 - (bottom - radius), rows.1 - (bottom - radius))
        cut(upper, coverage, width, atLeft: corners.contains(.topLeft), atRight: corners.contains(.topRight))
        cut(lower, coverage, width, atLeft: corners.contains(.bottomLeft), atRight: corners.contains(.bottomRight))
    }

    /// Subtracts the area outside two corners from a row, given by its distances from their centres.
    private func cut(
        _ row: (Double, Double), _ coverage: UnsafeMutablePointer<Float>, _ width: Int, atLeft: Bool, atRight: Bool
    ) {
        guard row.1 > 0, atLeft || atRight else { return }
        let rows = (max(row.0, 0), min(row.1, radius))
        let center = left + radius
        for x in Int(clamping: left)..<min(width, Int(clamping: center.rounded(.up))) {
            let columns = (max(center - Double(x + 1), 0), min(center - Double(x), radius))
            let missing = Float(outside(columns, rows))
            // Every pixel nearer to the centre is fully covered.
            if missing == 0 { break }
            if atLeft { coverage[x] = max(0, coverage[x] - missing) }
            if atRight { coverage[width - 1 - x] = max(0, coverage[width - 1 - x] - missing) }
        }
    }

    /// The area of a rectangle in the first quadrant that lies outside the circle.
    private func outside(_ x: (Double, Double), _ y: (Double, Double)) -> Double {
        let square = radius * radius
        let whole = (x.1 - x.0) * (y.1 - y.0)
        if x.1 * x.1 + y.1 * y.1 <= square { return 0 }
        if x.0 * x.0 + y.0 * y.0 >= square { return whole }
        // Left of the first abscissa the circle is above the rectangle, right of the second below it.
        let first = min(max(max(0, square - y.1 * y.1).squareRoot(), x.0), x.1)
        let second = min(max(max(0, square - y.0 * y.0).squareRoot(), x.0), x.1)
        let inside =
            (first - x.0) * (y.1 - y.0) + (integral(second) - integral(first)) - (second - first) * y.0
        return max(0, whole - inside)
    }

    /// The area below the circle from its centre to an abscissa.
    private func integral(_ x: Double) -> Double {
        let share = min(x / radius, 1)
        return radius * radius / 2 * (share * max(0, 1 - share * share).squareRoot() + asin(share))
    }
}
