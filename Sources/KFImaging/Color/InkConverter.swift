/// Converts CMYK to RGB: through the embedded profile to sRGB, or where there is none (or no lcms2), by multiplying what
/// each ink lets through.
///
/// 255 is no ink. JPEG does not say which way CMYK is stored. Adobe stores it so, and Pillow, libvips and ImageMagick
/// read every file so, with Adobe's marker or without.
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

    /// A product of two bytes divided by 255, rounded.
    @inline(__always)
    private static func scaled(_ product: UInt32) -> UInt8 {
        let sum = product + 128
        return UInt8(truncatingIfNeeded: (sum + sum >> 8) >> 8)
    }
}
