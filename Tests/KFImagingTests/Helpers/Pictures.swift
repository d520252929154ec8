@testable import KFImaging

/// Generated test pictures.
enum Pictures {
    /// A bitmap with samples from a formula: (x, y, channel) → 0…65535, truncated to the depth.
    static func make(
        _ width: Int, _ height: Int, _ format: PixelFormat = .rgb, _ sample: (Int, Int, Int) -> Int
    ) throws -> Bitmap {
        var bitmap = try Bitmap(width: width, height: height, format: format)
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            for y in 0..<height {
                for x in 0..<width {
                    for channel in 0..<format.channelCount {
                        let index = x * format.channelCount + channel
                        switch format.depth {
                        case .eight: rows.row(y)[index] = UInt8(truncatingIfNeeded: sample(x, y, channel))
                        case .sixteen: rows.row16(y)[index] = UInt16(truncatingIfNeeded: sample(x, y, channel))
                        }
                    }
                }
            }
        }
        return bitmap
    }

    /// A smooth gradient with some structure.
    static func gradient(_ width: Int, _ height: Int, _ format: PixelFormat = .rgb) throws -> Bitmap {
        let scale = format.depth == .sixteen ? 257 : 1
        return try make(width, height, format) { x, y, channel in
            switch channel {
            case 0: x * 255 / max(width - 1, 1) * scale
            case 1: y * 255 / max(height - 1, 1) * scale
            case 2: (x + y) * 255 / max(width + height - 2, 1) * scale
            default: (255 - x * 200 / max(width - 1, 1)) * scale
            }
        }
    }

    /// A bitmap of one colour.
    static func flat(_ width: Int, _ height: Int, _ samples: [Int]) throws -> Bitmap {
        let formats: [PixelFormat] = [.gray, .grayAlpha, .rgb, .rgba]
        return try make(width, height, formats[samples.count - 1]) { _, _, channel in samples[channel] }
    }

    /// Four rectangles of pure colours and a white corner, which look different in each of the eight orientations.
    static func corners(_ width: Int, _ height: Int) throws -> Bitmap {
        try make(width, height, .rgb) { x, y, channel in
            let quarter = (x * 2 / width) + 2 * (y * 2 / height)
            if x < width / 8 && y < height / 8 { return 255 }
            return quarter == channel ? 255 : 0
        }
    }
}

extension Bitmap {
    /// The samples of one pixel.
    subscript(x: Int, y: Int) -> [Int] {
        withUnsafeRows { rows in
            (0..<format.channelCount).map { channel in
                let index = x * format.channelCount + channel
                return format.depth == .eight ? Int(rows.row(y)[index]) : Int(rows.row16(y)[index])
            }
        }
    }

    /// All pixels as RGBA of 8 bits, without gaps; 16 bits lose their lower half.
    var rgba8: [UInt8] {
        withUnsafeRows { rows in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(width * height * 4)
            let channels = format.channelCount
            for y in 0..<height {
                for x in 0..<width {
                    func sample(_ channel: Int) -> UInt8 {
                        let index = x * channels + channel
                        return format.depth == .eight ? rows.row(y)[index] : UInt8(rows.row16(y)[index] >> 8)
                    }
                    for channel in 0..<3 { bytes.append(sample(format.isGray ? 0 : channel)) }
                    bytes.append(format.hasAlpha ? sample(channels - 1) : 255)
                }
            }
            return bytes
        }
    }

    /// The largest difference between any two samples; both must be of one size and format.
    func distance(to other: Bitmap) -> Int {
        guard width == other.width, height == other.height, format == other.format else { return Int.max }
        return (0..<height).map { y in
            (0..<width).map { x in zip(self[x, y], other[x, y]).map { abs($0 - $1) }.max() ?? 0 }.max() ?? 0
        }.max() ?? 0
    }
}
