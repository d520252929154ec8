extension Bitmap {
    /// Gives the rows some at a time, for work that cannot look at the clock by itself: all rows, the first one's number
    /// and how many.
    func withSlices(
        _ body: (BitmapRows, Int, Int) throws(ImagingError) -> Void
    ) throws(ImagingError) {
        try withUnsafeRows { (rows) throws(ImagingError) in
            var pace = Pace()
            let step = Deadline.rowsPerLook(width: rows.width)
            for first in stride(from: 0, to: rows.height, by: step) {
                let count = min(step, rows.height - first)
                try pace.advance(count * rows.width)
                try body(rows, first, count)
            }
        }
    }
}
