import CImageCodecs

/// A conversion from an embedded profile to sRGB, by lcms2.
final class ColorTransform {
    private let handle: OpaquePointer

    /// Nil when lcms2 cannot be loaded, or the profile is damaged or none for such pixels.
    convenience init?(profile: [UInt8], from format: PixelFormat) {
        var pixels = kf_color_pixels()
        pixels.channels = UInt32(format.channelCount)
        pixels.depth = UInt32(format.depth.rawValue)
        self.init(profile, pixels)
    }

    /// From CMYK, 255 for no ink, to RGB of 8 bits.
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

    /// Input and output may be the same where the format stays.
    func convert(_ input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, _ count: Int) {
        kf_color_convert(handle, input, output, UInt32(count))
    }
}
