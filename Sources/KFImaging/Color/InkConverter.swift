/// CMYK to RGB: by the embedded profile into sRGB, or where there is none (or no lcms2), each ink taking its share of
/// the light.
struct InkConverter {
    private let transform: ColorTransform?
    private let flip: UInt8

    /// Inverted is Adobe's sense, 255 is no ink; otherwise 255 is full ink.
    init(profile: [UInt8]?, inverted: Bool) {
        flip = inverted ? 0 : 255
        transform = profile.flatMap { ColorTransform(inkProfile: $0, inverted: inverted) }
    }

    func convert(_ ink: UnsafePointer<UInt8>, to rgb: UnsafeMutablePointer<UInt8>, _ count: Int) {
        if let transform { return transform.convert(ink, to: rgb, count) }
        var source = ink
        var target = rgb
        for _ in 0..<count {
            let key = UInt32(source[3] ^ flip)
            target[0] = InkConverter.scaled(UInt32(source[0] ^ flip) * key)
            target[1] = InkConverter.scaled(UInt32(source[1] ^ flip) * key)
            target[2] = InkConverter.scaled(UInt32(source[2] ^ flip) * key)
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
