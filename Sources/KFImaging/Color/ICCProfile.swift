/// Facts of an ICC profile that need no colour engine.
enum ICCProfile {
    /// Returns the profile if it describes pixels of this format. A CMYK profile does not describe RGB made from CMYK.
    static func fitting(_ profile: [UInt8]?, _ format: PixelFormat) -> [UInt8]? {
        guard let profile, profile.count >= 128 else { return nil }
        let space = format.isGray ? "GRAY" : "RGB "
        let matches = profile.withUnsafeBytes { $0.holds("acsp", at: 36) && $0.holds(space, at: 16) }
        return matches ? profile : nil
    }
}

extension Image {
    /// The image without a profile that does not fit its pixels, such as a grey profile of a picture that was coloured.
    var withFittingProfile: Image {
        var image = self
        image.iccProfile = ICCProfile.fitting(iccProfile, bitmap.format)
        return image
    }
}

extension Image {
    /// Returns the image with its pixels converted to sRGB by lcms2, without a profile.
    ///
    /// An image without a profile is sRGB already. When lcms2 cannot be loaded, or rejects the profile, the image is
    /// returned unchanged.
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
