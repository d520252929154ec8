import Dispatch

/// Splits the rows of a picture into bands that threads process in parallel.
///
/// The bands depend only on the picture, not on the number of cores. A filter whose running sums restart with each band
/// thus gives the same pixels on every machine.
enum RowBands {
    /// The fewest pixels of a band; fewer are processed before another thread wakes up.
    private static let worthwhile = 1 << 17

    /// Splits the rows. `overlap` is the number of rows that a band reads beyond its own; with more, bands are higher.
    static func split(width: Int, height: Int, overlap: Int = 0) -> [Range<Int>] {
        var count = 1
        while count < 16, width * height / (count * 2) >= worthwhile, height / (count * 2) >= max(16, 8 * overlap) {
            count *= 2
        }
        return (0..<count).map { height * $0 / count..<height * ($0 + 1) / count }
    }

    /// Runs the work once for each band. Of several errors, the first band's is thrown.
    static func run(_ bands: [Range<Int>], _ work: (Range<Int>) throws(ImagingError) -> Void) throws(ImagingError) {
        guard bands.count > 1 else {
            for band in bands { try work(band) }
            return
        }
        let allowance = Allowance.current
        var errors = [ImagingError?](repeating: nil, count: bands.count)
        errors.withUnsafeMutableBufferPointer { errors in
            // Every iteration writes to its own element.
            nonisolated(unsafe) let errors = errors
            // The length of this file's path would be in the binary, which would differ between folders.
            #sourceLocation(file:"RowBands",line:33)
            withoutActuallyEscaping(work) { work in
                // Callers promise that the work of a band writes only to its own rows.
                nonisolated(unsafe) let work = work
                DispatchQueue.concurrentPerform(iterations: bands.count) { index in
                    do throws(ImagingError) {
                        // The task-local allowance is not set on the other threads.
                        guard let allowance else { return try work(bands[index]) }
                        // A band may have too few samples for its work to check the clock.
                        try allowance.deadline.check()
                        try allowance.run { () throws(ImagingError) in try work(bands[index]) }
                    } catch {
                        errors[index] = error
                    }
                }
            }
            #sourceLocation()
        }
        if let error = errors.lazy.compactMap({ $0 }).first { throw error }
    }
}

extension Bitmap {
    /// Makes a bitmap of the same size by calling `fill` with (rows, new rows, band) for each band.
    ///
    /// Large pictures are processed on all cores.
    func mapBands(
        to format: PixelFormat, overlap: Int = 0,
        _ fill: (BitmapRows, MutableBitmapRows, Range<Int>) throws(ImagingError) -> Void
    ) throws(ImagingError) -> Bitmap {
        var result = try Bitmap(uninitialized: width, height, format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                let bands = RowBands.split(width: width, height: height, overlap: overlap)
                try RowBands.run(bands) { (band) throws(ImagingError) in try fill(source, target, band) }
            }
        }
        return result
    }

    /// Makes a bitmap of the same size by calling `change` with (row, new row); both have 8 bits a sample.
    ///
    /// Large pictures are processed on all cores.
    func mapRows(
        to channels: PixelFormat.Channels, _ change: (UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>) -> Void
    ) throws(ImagingError) -> Bitmap {
        try convertRows(to: PixelFormat(channels), change)
    }

    /// Makes a bitmap of the same size like `mapRows`, with samples or pixels of any type.
    @inline(__always)
    func convertRows<Input, Output>(
        to format: PixelFormat, _ change: (UnsafePointer<Input>, UnsafeMutablePointer<Output>) -> Void
    ) throws(ImagingError) -> Bitmap {
        try mapBands(to: format) { (source, target, band) throws(ImagingError) in
            var pace = Pace()
            for y in band {
                try pace.advance(width)
                change(
                    (source.base + y * source.bytesPerRow).assumingMemoryBound(to: Input.self),
                    (target.base + y * target.bytesPerRow).assumingMemoryBound(to: Output.self))
            }
        }
    }

    /// Calls `body` with (all rows, index of the first row, count) for some rows at a time.
    ///
    /// Between the calls the clock is checked, which C code cannot do by itself.
    func withSlices(_ body: (BitmapRows, Int, Int) throws(ImagingError) -> Void) throws(ImagingError) {
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
