/// The facts in the header of an image.
public struct ImageInfo: Sendable, Equatable {
    /// How a file stores colour.
    public enum ColorModel: String, Sendable {
        /// Grey, with or without alpha.
        case gray
        /// Red, green and blue, or the luma and chroma of JPEG, WebP and AVIF.
        case rgb
        /// Indices into a palette.
        case indexed
        /// Cyan, magenta, yellow and black.
        case cmyk
    }

    /// The format, recognised by the first bytes.
    public var format: ImageFormat
    /// The width in pixels as displayed: with the orientation applied.
    public var width: Int
    /// The height in pixels as displayed.
    public var height: Int
    /// The number of frames; 1 for a still image.
    public var frames: Int
    /// Whether the file states that pixels may be transparent.
    public var hasAlpha: Bool
    /// The EXIF orientation, 1 to 8; 1 when it is missing or wrong.
    public var orientation: Int
    /// How the file stores colour.
    public var colorModel: ColorModel
    /// The bits of a sample, or of a palette index.
    public var bitDepth: Int

    /// Makes the facts of an image; by default an opaque still RGB image of 8 bits a sample.
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
    /// The size as displayed.
    var size: PixelSize { PixelSize(width: width, height: height) }

    /// `stored` is the size before the orientation is applied.
    init(
        format: ImageFormat, stored: PixelSize, orientation: Orientation = .upright, frames: Int = 1,
        hasAlpha: Bool = false, colorModel: ColorModel = .rgb, bitDepth: Int = 8
    ) {
        let size = orientation.swapsSides ? stored.turned : stored
        self.init(
            format: format, width: size.width, height: size.height, frames: frames, hasAlpha: hasAlpha,
            orientation: orientation.value, colorModel: colorModel, bitDepth: bitDepth)
    }
}
