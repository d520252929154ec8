import Glibc

/// Saturation, contrast, brightness and exposure in one step: a factor for the sample, one for the luma, and a
/// constant.
///
/// Values are clamped and rounded once, at the end.
struct ColorMatrix {
    /// The weights of Rec. 709, applied to gamma-encoded values.
    static let luma = (red: 0.2126, green: 0.7152, blue: 0.0722)

    private let sample: Double
    private let luma: Double
    private let constant: Double

    /// Applies saturation relative to the luma, then contrast relative to 0.5, then adds brightness and multiplies by
    /// 2^ev.
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
        // Plus one half, because the conversion to integers truncates.
        let offset = SIMD4<Float>(repeating: Float(constant * 255 + 0.5))
        let top = SIMD4<Float>(repeating: 255)
        return try bitmap.mapRows(to: bitmap.format.channels) { row, output in
            var (pixel, output) = (row, output)
            for _ in 0..<width {
                var value = red * Float(pixel[0]) + green * Float(pixel[1])
                value = (value + blue * Float(pixel[2]) + offset).clamped(lowerBound: .zero, upperBound: top)
                output[0] = UInt8(truncatingIfNeeded: Int32(value[0]))
                output[1] = UInt8(truncatingIfNeeded: Int32(value[1]))
                output[2] = UInt8(truncatingIfNeeded: Int32(value[2]))
                if step == 4 { output[3] = pixel[3] }
                pixel += step
                output += step
            }
        }
    }
}

/// A lookup table for each channel, for changes that depend on the sample alone.
struct ChannelTables {
    /// The tables for red, green, blue and alpha; grey uses the first.
    private var tables: [[UInt8]]

    /// Fills the tables. The functions map 0…1 to values that are clamped and rounded.
    init(colors: [(Double) -> Double], alpha: @escaping (Double) -> Double = { $0 }) {
        tables = (colors + [alpha]).map { change in
            (0...255).map { ChannelTables.sample(change(Double($0) / 255)) }
        }
    }

    static func sample(_ value: Double) -> UInt8 {
        UInt8(clamping: max(0, min(value, 1)) * 255 + 0.5)
    }

    /// Applies the tables to a bitmap of 8 bits a sample. For a grey one the tables of the colours must be equal.
    func apply(to bitmap: Bitmap) throws(ImagingError) -> Bitmap {
        let (channels, width) = (bitmap.format.channelCount, bitmap.width)
        let order = bitmap.format.isGray ? [0, 3] : [0, 1, 2, 3]
        let table = order.prefix(channels).flatMap { tables[$0] }
        return try bitmap.mapRows(to: bitmap.format.channels) { row, output in
            table.withUnsafeBufferPointer { table in
                @inline(__always)
                func lookUp(_ channels: Int) {
                    for x in stride(from: 0, to: channels * width, by: channels) {
                        for channel in 0..<channels {
                            output[x + channel] = table[256 * channel + Int(row[x + channel])]
                        }
                    }
                }
                // A constant number of channels, so that the inner loop is unrolled.
                switch channels {
                case 1: lookUp(1)
                case 2: lookUp(2)
                case 3: lookUp(3)
                default: lookUp(4)
                }
            }
        }
    }
}
