import Dispatch

/// Splits a picture's rows into bands that are worked on side by side.
///
/// The bands follow from the picture alone and never from the number of cores, so that a filter whose sums begin anew
/// with each band gives the same pixels on every machine.
enum RowBands {
    /// A picture with fewer pixels than this is done before another thread is awake.
    private static let worthwhile = 1 << 17

    /// The overlap is how many rows beyond its own a band must look at, which keeps the bands high.
    static func split(width: Int, height: Int, overlap: Int = 0) -> [Range<Int>] {
        var count = 1
        while count < 16, width * height / (count * 2) >= worthwhile, height / (count * 2) >= max(16, 8 * overlap) {
            count *= 2
        }
        return (0..<count).map { height * $0 / count..<height * ($0 + 1) / count }
    }

    /// Runs the work once for each band, and throws the first band's error where there are several.
    static func run(
        _ bands: [Range<Int>], _ work: (Range<Int>) throws(ImagingError) -> Void
    ) throws(ImagingError) {
        guard bands.count > 1 else {
            for band in bands { try work(band) }
            return
        }
        let allowance = Allowance.current
        var errors = [ImagingError?](repeating: nil, count: bands.count)
        errors.withUnsafeMutableBufferPointer { errors in
            // Every iteration writes to a place of its own.
            nonisolated(unsafe) let errors = errors
            withoutActuallyEscaping(work) { work in
                // The work of a band touches no other band's rows; that is what a caller promises.
                nonisolated(unsafe) let work = work
                DispatchQueue.concurrentPerform(iterations: bands.count) { index in
                    do throws(ImagingError) {
                        // The other threads know of no allowance by themselves.
                        guard let allowance else { return try work(bands[index]) }
                        // A band may be too low for its work to look at the clock.
                        try allowance.deadline.check()
                        try allowance.run { () throws(ImagingError) in try work(bands[index]) }
                    } catch {
                        errors[index] = error
                    }
                }
            }
        }
        if let error = errors.lazy.compactMap({ $0 }).first { throw error }
    }
}

extension Bitmap {
    /// A bitmap of 8 bits a sample and of the same size, each of whose rows is made of the same row of this one (which
    /// has 8 bits, too): (y, row, new row). Large pictures are done on all cores.
    func mapRows(
        to channels: PixelFormat.Channels,
        _ change: (Int, UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>) -> Void
    ) throws(ImagingError) -> Bitmap {
        var result = try Bitmap(uninitialized: width, height, PixelFormat(channels))
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                try RowBands.run(RowBands.split(width: width, height: height)) { (band) throws(ImagingError) in
                    var pace = Pace()
                    for y in band {
                        try pace.advance(width)
                        change(y, source.row(y), target.row(y))
                    }
                }
            }
        }
        return result
    }
}

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
