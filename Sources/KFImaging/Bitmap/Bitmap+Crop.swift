import Glibc

extension Bitmap {
    /// A rectangle of the bitmap, which must lie inside it.
    func cropped(x: Int, y: Int, width: Int, height: Int) throws(ImagingError) -> Bitmap {
        if x == 0, y == 0, width == self.width, height == self.height { return self }
        var result = try Bitmap(uninitialized: width, height, format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                let pixel = format.bytesPerPixel
                var pace = Pace()
                for row in 0..<height {
                    try pace.advance(width)
                    memcpy(target.row(row), source.row(y + row) + x * pixel, width * pixel)
                }
            }
        }
        return result
    }
}
