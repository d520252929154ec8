/// Finds the part of a picture inside a border of one colour.
struct BorderScan {
    /// The rows and columns that hold more than the border's colour; never empty.
    struct Content {
        var columns: ClosedRange<Int>
        var rows: ClosedRange<Int>

        var rectangle: PixelRectangle {
            PixelRectangle(
                x: columns.lowerBound, y: rows.lowerBound, size: PixelSize(width: columns.count, height: rows.count))
        }
    }

    /// The colour, premultiplied, with the alpha in the last lane; in the range of the samples.
    private let color: SIMD4<Float>
    private let tolerance: Float

    /// Takes the colour of the pixel at the top left. The tolerance is in 255ths.
    init(colorOf bitmap: Bitmap, tolerance: Double) {
        let top: Float = bitmap.format.depth == .eight ? 255 : 65_535
        // Half a 255th of room: premultiplied samples are not whole.
        self.tolerance = (Float(tolerance) + 1 / 512) * top / 255
        color = bitmap.withUnsafeRows { rows in
            var pixel = SIMD4<Float>.zero
            PixelRow.load(rows.base, rows.format, into: &pixel, 1)
            return pixel
        }
    }

    /// Returns the smallest part with all pixels of another colour and all of `earlier`; nil when there are none.
    ///
    /// The bitmap has the format of the one that gave the colour.
    func content(of bitmap: Bitmap, with earlier: Content?) throws(ImagingError) -> Content? {
        let width = bitmap.width
        let row = try Scratch.take(SIMD4<Float>.self, width)
        defer { Scratch.give(row) }
        return try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
            var pace = Pace()
            /// The first and the last column of another colour in a row. Only what can widen `columns` is looked at.
            func ends(_ y: Int, beyond columns: ClosedRange<Int>?) throws(ImagingError) -> ClosedRange<Int>? {
                try pace.advance(width)
                PixelRow.load(rows.base + y * rows.bytesPerRow, rows.format, into: row, width)
                let left = (0..<(columns?.lowerBound ?? width)).first { differs(row[$0]) }
                let right = ((columns.map { $0.upperBound + 1 } ?? 0)..<width).last { differs(row[$0]) }
                if let columns { return (left ?? columns.lowerBound)...(right ?? columns.upperBound) }
                guard let left, let right else { return nil }
                return left...right
            }
            var content = earlier
            for y in 0..<rows.height {
                // A row outside the content is looked at as a whole, others only beside it.
                let isInside = content?.rows.contains(y) ?? false
                guard let found = try ends(y, beyond: isInside ? content?.columns : nil) else { continue }
                guard let known = content else {
                    content = Content(columns: found, rows: y...y)
                    continue
                }
                content = Content(
                    columns: min(
                        known.columns.lowerBound, found.lowerBound)...max(known.columns.upperBound, found.upperBound),
                    rows: min(known.rows.lowerBound, y)...max(known.rows.upperBound, y))
            }
            return content
        }
    }

    private func differs(_ pixel: SIMD4<Float>) -> Bool {
        let difference = pixel - color
        return max(difference.max(), -difference.min()) > tolerance
    }
}
