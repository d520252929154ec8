/// What is worth knowing of an ICC profile without a colour engine.
enum ICCProfile {
    /// The profile if it is one for pixels like these; a profile for ink says nothing about RGB made from it.
    static func fitting(_ profile: [UInt8]?, _ format: PixelFormat) -> [UInt8]? {
        guard let profile, profile.count >= 128 else { return nil }
        let space = format.isGray ? "GRAY" : "RGB "
        let matches = profile.withUnsafeBytes { $0.holds("acsp", at: 36) && $0.holds(space, at: 16) }
        return matches ? profile : nil
    }
}

extension Image {
    /// The same image without a profile that its pixels no longer go with, such as that of grey on a picture that has
    /// become a coloured one.
    var withFittingProfile: Image {
        var image = self
        image.iccProfile = ICCProfile.fitting(iccProfile, bitmap.format)
        return image
    }
}

extension Image {
    /// The same image with its pixel values converted to sRGB, by lcms2, and its profile gone.
    ///
    /// An image without a profile is taken as sRGB already; where lcms2 cannot be loaded or does not understand the
    /// profile, the image stays as it is and keeps it.
    public func convertedToSRGB() throws(ImagingError) -> Image {
        guard let iccProfile, let transform = ColorTransform(profile: iccProfile, from: bitmap.format) else {
            return self
        }
        let format = bitmap.format
        guard frames.allSatisfy({ $0.bitmap.format == format }) else { return self }
        var result = try mapBitmaps { (bitmap) throws(ImagingError) in
            var bitmap = bitmap
            try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<rows.height {
                    try pace.advance(rows.width * 8)
                    let row = rows.base + y * rows.bytesPerRow
                    transform.convert(row, to: row, rows.width)
                }
            }
            return bitmap
        }
        result.iccProfile = nil
        return result
    }
}
