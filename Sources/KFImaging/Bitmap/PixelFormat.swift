/// How a bitmap's pixels lie in memory: channels in this order, alpha last and straight, 8 or 16 bits each.
public struct PixelFormat: Sendable, Equatable {
    /// What the samples of a pixel are; the raw value is their number.
    public enum Channels: Int, Sendable {
        /// Brightness alone.
        case gray = 1
        /// Brightness, alpha.
        case grayAlpha = 2
        /// Red, green, blue.
        case rgb = 3
        /// Red, green, blue, alpha.
        case rgba = 4
    }

    /// How many bits a sample has; the raw value says it.
    public enum Depth: Int, Sendable {
        /// A byte.
        case eight = 8
        /// In the machine's byte order.
        case sixteen = 16
    }

    /// What the samples of a pixel are.
    public var channels: Channels
    /// How many bits a sample has.
    public var depth: Depth

    /// 8 bits a sample unless told otherwise.
    public init(_ channels: Channels, _ depth: Depth = .eight) {
        self.channels = channels
        self.depth = depth
    }

    /// Grey, 8 bits.
    public static let gray = PixelFormat(.gray)
    /// Grey with alpha, 8 bits.
    public static let grayAlpha = PixelFormat(.grayAlpha)
    /// Coloured, 8 bits.
    public static let rgb = PixelFormat(.rgb)
    /// Coloured with alpha, 8 bits.
    public static let rgba = PixelFormat(.rgba)

    /// Whether pixels may be transparent.
    public var hasAlpha: Bool { channels == .grayAlpha || channels == .rgba }
    /// Whether there is no colour.
    public var isGray: Bool { channels == .gray || channels == .grayAlpha }
    /// Samples of a pixel, from 1 to 4.
    public var channelCount: Int { channels.rawValue }
    /// From 1 to 8.
    public var bytesPerPixel: Int { channels.rawValue * depth.rawValue / 8 }

    /// The same with an alpha channel.
    public var addingAlpha: PixelFormat { PixelFormat(isGray ? .grayAlpha : .rgba, depth) }
    /// The same without one.
    public var droppingAlpha: PixelFormat { PixelFormat(isGray ? .gray : .rgb, depth) }
}

/// A size in whole pixels.
public struct PixelSize: Sendable, Equatable {
    /// From left to right.
    public var width: Int
    /// From top to bottom.
    public var height: Int

    /// Of any width and height; nothing is checked.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The size with its sides exchanged.
    public var turned: PixelSize { PixelSize(width: height, height: width) }
}
