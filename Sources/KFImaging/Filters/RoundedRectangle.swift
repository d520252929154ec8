import Glibc

/// A rectangle, some of whose corners are rounded, and how much of every pixel it covers: the exact area.
struct RoundedRectangle {
    private let left: Double
    private let top: Double
    private let right: Double
    private let bottom: Double
    private let radius: Double
    private let corners: RectCorner

    /// The rectangle as large as a picture, drawn in on every side by the inset. Nothing may be left of it.
    init(width: Int, height: Int, inset: Double = 0, radius: Double, corners: RectCorner) {
        left = inset
        top = inset
        right = Double(width) - inset
        bottom = Double(height) - inset
        self.radius = radius
        self.corners = corners
    }

    /// Puts the covered share of every pixel in a row, from 0 to 1, into the buffer.
    func cover(row: Int, _ coverage: UnsafeMutablePointer<Float>, _ width: Int) {
        let rows = (max(Double(row), top), min(Double(row + 1), bottom))
        guard right > left, rows.1 > rows.0 else {
            coverage.update(repeating: 0, count: width)
            return
        }
        let tall = rows.1 - rows.0
        coverage.update(repeating: Float(tall), count: width)
        // The columns that the rectangle's own edges cut, and those outside of it.
        for x in 0..<min(width, Int(left.rounded(.up))) {
            let wide = max(0, min(Double(x + 1), right) - max(Double(x), left))
            coverage[x] = Float(wide * tall)
            coverage[width - 1 - x] = coverage[x]
        }
        guard radius > 0 else { return }
        // The rows as distances from the line through the centres of the upper and of the lower corners.
        let upper = (top + radius - rows.1, top + radius - rows.0)
        let lower = (rows.0 - (bottom - radius), rows.1 - (bottom - radius))
        cut(upper, coverage, width, atLeft: corners.contains(.topLeft), atRight: corners.contains(.topRight))
        cut(lower, coverage, width, atLeft: corners.contains(.bottomLeft), atRight: corners.contains(.bottomRight))
    }

    /// Takes away what two corners leave out of a row; the row is given by its distances from their centres.
    private func cut(
        _ row: (Double, Double), _ coverage: UnsafeMutablePointer<Float>, _ width: Int, atLeft: Bool, atRight: Bool
    ) {
        guard row.1 > 0, atLeft || atRight else { return }
        let rows = (max(row.0, 0), min(row.1, radius))
        let center = left + radius
        for x in Int(left)..<min(width, Int(center.rounded(.up))) {
            let columns = (max(center - Double(x + 1), 0), min(center - Double(x), radius))
            let missing = Float(outside(columns, rows))
            // Nearer to the centre there is nothing missing any more.
            if missing == 0 { break }
            if atLeft { coverage[x] = max(0, coverage[x] - missing) }
            if atRight { coverage[width - 1 - x] = max(0, coverage[width - 1 - x] - missing) }
        }
    }

    /// The area of a rectangle, in the quarter plane, that lies outside the circle.
    private func outside(_ x: (Double, Double), _ y: (Double, Double)) -> Double {
        let square = radius * radius
        let whole = (x.1 - x.0) * (y.1 - y.0)
        if x.1 * x.1 + y.1 * y.1 <= square { return 0 }
        if x.0 * x.0 + y.0 * y.0 >= square { return whole }
        // Up to the first abscissa the circle is above the rectangle, from the second on below it.
        let first = min(max(max(0, square - y.1 * y.1).squareRoot(), x.0), x.1)
        let second = min(max(max(0, square - y.0 * y.0).squareRoot(), x.0), x.1)
        let inside =
            (first - x.0) * (y.1 - y.0) + (integral(second) - integral(first)) - (second - first) * y.0
        return max(0, whole - inside)
    }

    /// The area under the circle from its centre to an abscissa.
    private func integral(_ x: Double) -> Double {
        let share = min(x / radius, 1)
        return radius * radius / 2 * (share * max(0, 1 - share * share).squareRoot() + asin(share))
    }
}
