/// What an image's header tells.
public struct ImageInfo: Sendable, Equatable {
    /// How the file itself stores colour.
    public enum ColorModel: String, Sendable {
        /// One sample of brightness.
        case gray
        /// Red, green and blue; JPEG's and WebP's luma and chroma too.
        case rgb
        /// Numbers of a palette's colours.
        case indexed
        /// Four inks.
        case cmyk
    }

    /// Sniffed from the bytes.
    public var format: ImageFormat
    /// In pixels, as displayed: with the orientation applied.
    public var width: Int
    /// In pixels, as displayed.
    public var height: Int
    /// How many frames an animation has; 1 for a still image.
    public var frames: Int
    /// Whether the file says that pixels may be transparent.
    public var hasAlpha: Bool
    /// The EXIF orientation, 1 to 8. 1 where none or a wrong one is given.
    public var orientation: Int
    /// How the file itself stores colour.
    public var colorModel: ColorModel
    /// Bits of a sample (of a palette index in an indexed image).
    public var bitDepth: Int

    /// An opaque still image of 8 bits unless told otherwise.
    public init(
        format: ImageFormat, width: Int, height: Int, frames: Int = 1, hasAlpha: Bool = false, orientation: Int = 1,
        colorModel: ColorModel = .rgb, bitDepth: Int = 8
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.frames = frames
        self.hasAlpha = hasAlpha
        self.orientation = orientation
        self.colorModel = colorModel
        self.bitDepth = bitDepth
    }
}

extension ImageInfo {
    /// `stored` is the size before the orientation is applied.
    init(
        format: ImageFormat, stored: (width: Int, height: Int), orientation: Orientation = .upright, frames: Int = 1,
        hasAlpha: Bool = false, colorModel: ColorModel = .rgb, bitDepth: Int = 8
    ) {
        let swap = orientation.swapsSides
        self.init(
            format: format, width: swap ? stored.height : stored.width, height: swap ? stored.width : stored.height,
            frames: frames, hasAlpha: hasAlpha, orientation: orientation.value, colorModel: colorModel,
            bitDepth: bitDepth)
    }
}
