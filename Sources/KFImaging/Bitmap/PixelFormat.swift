/// How a bitmap's pixels lie in memory: channels in this order, alpha last and straight, 8 or 16 bits each.
public struct PixelFormat: Sendable, Equatable {
    public enum Channels: Int, Sendable {
        case gray = 1
        case grayAlpha = 2
        case rgb = 3
        case rgba = 4
    }

    public enum Depth: Int, Sendable {
        case eight = 8
        /// In the machine's byte order.
        case sixteen = 16
    }

    public var channels: Channels
    public var depth: Depth

    public init(_ channels: Channels, _ depth: Depth = .eight) {
        self.channels = channels
        self.depth = depth
    }

    public static let gray = PixelFormat(.gray)
    public static let grayAlpha = PixelFormat(.grayAlpha)
    public static let rgb = PixelFormat(.rgb)
    public static let rgba = PixelFormat(.rgba)

    public var hasAlpha: Bool { channels == .grayAlpha || channels == .rgba }
    public var isGray: Bool { channels == .gray || channels == .grayAlpha }
    public var channelCount: Int { channels.rawValue }
    public var bytesPerPixel: Int { channels.rawValue * depth.rawValue / 8 }

    /// The same with an alpha channel.
    public var addingAlpha: PixelFormat { PixelFormat(isGray ? .grayAlpha : .rgba, depth) }
    /// The same without one.
    public var droppingAlpha: PixelFormat { PixelFormat(isGray ? .gray : .rgb, depth) }
}
