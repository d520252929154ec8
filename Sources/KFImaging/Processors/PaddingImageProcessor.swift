/// Centres an image on a canvas without scaling; a larger image is cropped evenly. 16 bits stay 16.
///
/// The colour lies around the image, not behind it: transparent pixels of the image stay transparent.
public struct PaddingImageProcessor: ImageProcessor, Equatable {
    /// The width of the canvas in points.
    public let width: Double
    /// The height of the canvas in points.
    public let height: Double
    /// The colour around the image.
    public let color: Color

    /// Takes sides of at most ``SizeSpec/maximum``; zero, negative sides and NaN become 1.
    public init(width: Double, height: Double, color: Color) {
        self.width = SizeSpec.possible(width)
        self.height = SizeSpec.possible(height)
        self.color = color
    }

    public var identifier: String {
        "pad:\(NumberText.format(width))x\(NumberText.format(height)),\(color.hexadecimal)"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let canvas = PixelSize(
            width: SizeSpec.pixels(width * options.scaleFactor), height: SizeSpec.pixels(height * options.scaleFactor))
        var frames = 1
        if case .image(let image) = item { frames = image.frames.count }
        try options.decode.limits.check(canvas, frames: frames)
        return try item.image(options.decode, coloring: !color.isGray) { (bitmap) throws(ImagingError) in
            try bitmap.padded(to: canvas, color)
        }
    }
}
