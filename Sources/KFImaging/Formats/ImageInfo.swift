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

    public var format: ImageFormat
    /// In pixels, as displayed: with the orientation applied.
    public var width: Int
    public var height: Int
    /// How many frames an animation has; 1 for a still image.
    public var frames: Int
    public var hasAlpha: Bool
    /// The EXIF orientation, 1 to 8. 1 where none or a wrong one is given.
    public var orientation: Int
    public var colorModel: ColorModel
    /// Bits of a sample (of a palette index in an indexed image).
    public var bitDepth: Int

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
