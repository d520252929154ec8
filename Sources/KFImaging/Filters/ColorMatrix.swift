import Glibc

/// Saturation, contrast, brightness and exposure in one step: a factor for the sample itself, one for its pixel's luma,
/// and a constant. Nothing is clamped or rounded before the end.
struct ColorMatrix {
    /// Rec. 709's, for the encoded values as they are.
    static let luma = (red: 0.2126, green: 0.7152, blue: 0.0722)

    private let sample: Double
    private let luma: Double
    private let constant: Double

    /// Saturation about the luma, then contrast about the middle, then brightness added, then times 2^ev.
    init(brightness: Double, contrast: Double, saturation: Double, exposure: Double) {
        let factor = exp2(exposure)
        sample = saturation * contrast * factor
        luma = (1 - saturation) * contrast * factor
        constant = ((1 - contrast) * 0.5 + brightness) * factor
    }

    func apply(to bitmap: Bitmap) throws(ImagingError) -> Bitmap {
        let bitmap = try bitmap.reducedToEightBits()
        if bitmap.format.isGray || luma == 0 {
            let (factor, constant) = (bitmap.format.isGray ? sample + luma : sample, constant)
            return try ChannelTables(colors: Array(repeating: { $0 * factor + constant }, count: 3)).apply(to: bitmap)
        }
        let (step, width) = (bitmap.format.channelCount, bitmap.width)
        func column(_ channel: Int, _ share: Double) -> SIMD4<Float> {
            var column = SIMD4<Double>(repeating: luma * share)
            column[channel] += sample
            return SIMD4<Float>(column)
        }
        let weights = ColorMatrix.luma
        let (red, green, blue) = (column(0, weights.red), column(1, weights.green), column(2, weights.blue))
        // Half a step more, as the conversion to whole numbers cuts off.
        let offset = SIMD4<Float>(repeating: Float(constant * 255 + 0.5))
        let top = SIMD4<Float>(repeating: 255)
        return try bitmap.changingRows { _, row in
            var pixel = row
            for _ in 0..<width {
                var value = red * Float(pixel[0]) + green * Float(pixel[1])
                value = (value + blue * Float(pixel[2]) + offset).clamped(lowerBound: .zero, upperBound: top)
                pixel[0] = UInt8(truncatingIfNeeded: Int32(value[0]))
                pixel[1] = UInt8(truncatingIfNeeded: Int32(value[1]))
                pixel[2] = UInt8(truncatingIfNeeded: Int32(value[2]))
                pixel += step
            }
        }
    }
}
