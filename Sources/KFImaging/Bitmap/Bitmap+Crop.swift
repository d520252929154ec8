import Glibc

extension Bitmap {
    /// A rectangle of the bitmap, which must lie inside it.
    func cropped(x: Int, y: Int, width: Int, height: Int) throws(ImagingError) -> Bitmap {
        if x == 0, y == 0, width == self.width, height == self.height { return self }
        var result = try Bitmap(uninitialized: width, height, format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            withUnsafeRows { source in
                let pixel = format.bytesPerPixel
                for row in 0..<height { memcpy(target.row(row), source.row(y + row) + x * pixel, width * pixel) }
            }
        }
        return result
    }
}
