/// The average colour of all pixels of a picture in linear light, without its alpha. Pixels count as much as they are
/// opaque.
package struct AverageColor: Sendable, Equatable {
    /// The average; black when all pixels are transparent.
    package let color: Color
    /// Whether every pixel is opaque.
    package let isOpaque: Bool

    /// - Throws: `timeLimit`.
    package init(_ bitmap: Bitmap) throws(ImagingError) {
        var sums = Sums()
        try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
            var pace = Pace()
            for y in 0..<rows.height {
                try pace.advance(rows.width)
                switch rows.format.depth {
                case .eight: sums.add(rows.row(y), rows) { Int($0) }
                // Rounded as `Bitmap.reducedToEightBits` does it.
                case .sixteen: sums.add(rows.row16(y), rows) { (Int($0) * 255 + 32_767) / 65_535 }
                }
            }
        }
        (color, isOpaque) = (sums.color, bitmap.isOpaque)
    }

    private struct Sums {
        private var light = SIMD4<UInt64>.zero

        /// The light of each sample in units of 2^-24, so that the sums of whole numbers are exact.
        private static let table = (0...255).map { UInt64(clamping: SRGB.linear(Double($0) / 255) * 0x1p24 + 0.5) }

        @inline(__always)
        mutating func add<Sample>(_ row: UnsafePointer<Sample>, _ rows: BitmapRows, _ byte: (Sample) -> Int) {
            let (channels, format) = (rows.format.channelCount, rows.format)
            let (green, blue) = format.isGray ? (0, 0) : (1, 2)
            var sums = light
            Self.table.withUnsafeBufferPointer { table in
                guard format.hasAlpha else {
                    var (red, greens, blues) = (UInt64(0), UInt64(0), UInt64(0))
                    for pixel in stride(from: row, to: row + channels * rows.width, by: channels) {
                        red &+= table[byte(pixel[0])]
                        greens &+= table[byte(pixel[green])]
                        blues &+= table[byte(pixel[blue])]
                    }
                    sums &+= SIMD4(red, greens, blues, UInt64(truncatingIfNeeded: rows.width)) &* 255
                    return
                }
                for pixel in stride(from: row, to: row + channels * rows.width, by: channels) {
                    let alpha = UInt64(truncatingIfNeeded: byte(pixel[channels - 1]))
                    let (red, green) = (table[byte(pixel[0])], table[byte(pixel[green])])
                    sums &+= SIMD4(red, green, table[byte(pixel[blue])], 1) &* alpha
                }
            }
            light = sums
        }

        var color: Color {
            guard light.w > 0 else { return .black }
            func sample(_ sum: UInt64) -> UInt8 {
                ChannelTables.sample(SRGB.encoded(Double(sum) / Double(light.w) / 0x1p24))
            }
            return Color(red: sample(light.x), green: sample(light.y), blue: sample(light.z))
        }
    }
}
