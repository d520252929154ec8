/// CMYK to RGB where no profile says better: each ink takes its share of the light.
enum Ink {
    /// Inverted is Adobe's sense, 255 is no ink; otherwise 255 is full ink.
    static func convert(
        _ ink: UnsafePointer<UInt8>, to rgb: UnsafeMutablePointer<UInt8>, _ count: Int, inverted: Bool
    ) {
        let flip: UInt8 = inverted ? 0 : 255
        var source = ink
        var target = rgb
        for _ in 0..<count {
            let key = UInt32(source[3] ^ flip)
            target[0] = scaled(UInt32(source[0] ^ flip) * key)
            target[1] = scaled(UInt32(source[1] ^ flip) * key)
            target[2] = scaled(UInt32(source[2] ^ flip) * key)
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
