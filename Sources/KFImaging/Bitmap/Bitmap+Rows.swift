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
