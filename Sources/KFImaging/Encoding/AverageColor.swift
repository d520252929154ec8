/// The average colour of a picture in linear light, without its alpha. Pixels count as much as they are opaque.
package enum AverageColor {
    /// Returns the average of the first frame; black when all pixels are transparent.
    package static func color(of image: Image) throws(ImagingError) -> Color {
        let bitmap = try image.bitmap.inColor()
        let channels = bitmap.format.channelCount
        // The light of each sample in units of 2^-24, so that the sums of whole numbers are exact.
        let light = (0...255).map { UInt64(SRGB.linear(Double($0) / 255) * 0x1p24 + 0.5) }
        var (red, green, blue, opacity) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        bitmap.withUnsafeRows { rows in
            for y in 0..<rows.height {
                let row = rows.row(y)
                for pixel in stride(from: row, to: row + channels * rows.width, by: channels) {
                    let alpha = channels == 4 ? UInt64(pixel[3]) : 255
                    red &+= light[Int(pixel[0])] &* alpha
                    green &+= light[Int(pixel[1])] &* alpha
                    blue &+= light[Int(pixel[2])] &* alpha
                    opacity &+= alpha
                }
            }
        }
        guard opacity > 0 else { return .black }
        func sample(_ sum: UInt64) -> UInt8 {
            ChannelTables.sample(SRGB.encoded(Double(sum) / Double(opacity) / 0x1p24))
        }
        return Color(red: sample(red), green: sample(green), blue: sample(blue))
    }
}
