/// The average colour of a picture in linear light, without its alpha. Pixels count as much as they are opaque.
package enum AverageColor {
    /// Returns the average of the first frame; black when all pixels are transparent.
    package static func color(of image: Image) throws(ImagingError) -> Color {
        let bitmap = try image.bitmap.expanded(to: .rgba)
        let light = (0...255).map { SRGB.linear(Double($0) / 255) }
        let sum = bitmap.withUnsafeRows { rows in
            (0..<rows.width * rows.height).reduce(SIMD4<Double>.zero) { sum, place in
                let pixel = rows.row(place / rows.width) + 4 * (place % rows.width)
                let color = SIMD4(light[Int(pixel[0])], light[Int(pixel[1])], light[Int(pixel[2])], 1)
                return sum + color * (Double(pixel[3]) / 255)
            }
        }
        guard sum.w > 0 else { return .black }
        let average = sum / sum.w
        func sample(_ light: Double) -> UInt8 { ChannelTables.sample(SRGB.encoded(light)) }
        return Color(red: sample(average.x), green: sample(average.y), blue: sample(average.z))
    }
}
