import CImageCodecs

/// Facts of an ICC profile that need no colour engine.
enum ICCProfile {
    /// Returns the profile if it describes pixels of this format. A CMYK profile does not describe RGB made from CMYK.
    static func fitting(_ profile: [UInt8]?, _ format: PixelFormat) -> [UInt8]? {
        guard let profile, profile.count >= 128 else { return nil }
        let space = format.isGray ? "GRAY" : "RGB "
        let matches = profile.withUnsafeBytes { $0.holds("acsp", at: 36) && $0.holds(space, at: 16) }
        return matches ? profile : nil
    }

    /// Returns the profile if it describes pixels of this format, or grey ones as equal parts of red, green and blue.
    static func describing(_ profile: [UInt8]?, _ format: PixelFormat) -> [UInt8]? {
        fitting(profile, format) ?? (format.isGray ? fitting(profile, .rgb) : nil)
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
        var result = try mapBitmaps { (bitmap) throws(ImagingError) in try transform.converted(bitmap) }
        result.iccProfile = nil
        return result
    }
}

/// A conversion from an embedded profile to sRGB with lcms2.
final class ColorTransform {
    private let handle: OpaquePointer

    /// Nil when lcms2 cannot be loaded, or when the profile is damaged or does not fit the pixels.
    convenience init?(profile: [UInt8], from format: PixelFormat) {
        var pixels = kf_color_pixels()
        pixels.channels = UInt32(clamping: format.channelCount)
        pixels.depth = UInt32(clamping: format.depth.rawValue)
        self.init(profile, pixels)
    }

    /// Converts CMYK, where 255 is no ink, to RGB of 8 bits a sample.
    convenience init?(inkProfile: [UInt8]) {
        var pixels = kf_color_pixels()
        (pixels.channels, pixels.depth) = (4, 8)
        pixels.ink = 1
        self.init(inkProfile, pixels)
    }

    private init?(_ profile: [UInt8], _ pixels: kf_color_pixels) {
        var pixels = pixels
        let handle = profile.withUnsafeBufferPointer { kf_color_to_srgb($0.baseAddress, $0.count, &pixels) }
        guard let handle else { return nil }
        self.handle = handle
    }

    deinit {
        kf_color_destroy(handle)
    }

    func converted(_ bitmap: Bitmap) throws(ImagingError) -> Bitmap {
        var bitmap = bitmap
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            var pace = Pace()
            for y in 0..<rows.height {
                try pace.advance(rows.width * 8)
                let row = rows.base + y * rows.bytesPerRow
                convert(row, to: row, rows.width)
            }
        }
        return bitmap
    }

    /// Converts `count` pixels. Input and output may be the same memory when the format stays.
    func convert(_ input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, _ count: Int) {
        kf_color_convert(handle, input, output, UInt32(clamping: count))
    }
}

/// Converts CMYK to RGB, through the embedded profile to sRGB. Without a profile or lcms2, the inks are multiplied.
///
/// 255 is no ink. JPEG does not state the polarity of CMYK. Adobe writes this one; Pillow, libvips and ImageMagick read
/// every file so, with or without Adobe's marker.
struct InkConverter {
    private let transform: ColorTransform?

    init(profile: [UInt8]?) {
        transform = profile.flatMap { ColorTransform(inkProfile: $0) }
    }

    func convert(_ ink: UnsafePointer<UInt8>, to rgb: UnsafeMutablePointer<UInt8>, _ count: Int) {
        if let transform { return transform.convert(ink, to: rgb, count) }
        var source = ink
        var target = rgb
        for _ in 0..<count {
            let key = UInt32(source[3])
            target[0] = InkConverter.scaled(UInt32(source[0]) * key)
            target[1] = InkConverter.scaled(UInt32(source[1]) * key)
            target[2] = InkConverter.scaled(UInt32(source[2]) * key)
            source += 4
            target += 3
        }
    }

    /// A product of two bytes, divided by 255 and rounded.
    @inline(__always)
    private static func scaled(_ product: UInt32) -> UInt8 {
        let sum = product + 128
        return UInt8(truncatingIfNeeded: (sum + sum >> 8) >> 8)
    }
}
