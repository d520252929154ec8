/// The layout of a bitmap's pixels: interleaved channels of 8 or 16 bits, with straight alpha last.
public struct PixelFormat: Sendable, Equatable {
    /// The channels of a pixel; the raw value is their number.
    public enum Channels: Int, Sendable {
        /// Grey.
        case gray = 1
        /// Grey, alpha.
        case grayAlpha = 2
        /// Red, green, blue.
        case rgb = 3
        /// Red, green, blue, alpha.
        case rgba = 4
    }

    /// The number of bits of a sample, which is also the raw value.
    public enum Depth: Int, Sendable {
        /// 8 bits.
        case eight = 8
        /// 16 bits, in the machine's byte order.
        case sixteen = 16
    }

    /// The channels of a pixel.
    public var channels: Channels
    /// The number of bits of a sample.
    public var depth: Depth

    /// Makes a format; 8 bits a sample by default.
    public init(_ channels: Channels, _ depth: Depth = .eight) {
        self.channels = channels
        self.depth = depth
    }

    /// Grey, 8 bits.
    public static let gray = PixelFormat(.gray)
    /// Grey with alpha, 8 bits.
    public static let grayAlpha = PixelFormat(.grayAlpha)
    /// RGB, 8 bits.
    public static let rgb = PixelFormat(.rgb)
    /// RGB with alpha, 8 bits.
    public static let rgba = PixelFormat(.rgba)

    /// Whether there is an alpha channel.
    public var hasAlpha: Bool { channels == .grayAlpha || channels == .rgba }
    /// Whether there is only a grey channel, with or without alpha.
    public var isGray: Bool { channels == .gray || channels == .grayAlpha }
    /// The number of channels, from 1 to 4.
    public var channelCount: Int { channels.rawValue }
    /// The number of bytes of a pixel, from 1 to 8.
    public var bytesPerPixel: Int { channels.rawValue * depth.rawValue / 8 }
}

/// A size in whole pixels.
public struct PixelSize: Sendable, Equatable {
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Makes a size; the sides are not checked.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    package var turned: PixelSize { PixelSize(width: height, height: width) }
}

/// A part of a picture, in whole pixels.
struct PixelRectangle: Equatable {
    var x: Int
    var y: Int
    var size: PixelSize
}
