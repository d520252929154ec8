/// Puts an image, unscaled and centred, on a canvas; what does not fit is cut off evenly. 16 bits stay 16.
///
/// The colour is put around the image, not behind it: what is transparent in the image stays so.
public struct PaddingImageProcessor: ImageProcessor, Equatable {
    /// In points.
    public let width: Double
    /// In points.
    public let height: Double
    /// Of what is around the image.
    public let color: Color

    /// Sides that are not possible count as the nearest that are: at least 1, at most `SizeSpec.maximum`.
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
            width: pixels(width * options.scaleFactor), height: pixels(height * options.scaleFactor))
        var frames = 1
        if case .image(let image) = item { frames = image.frames.count }
        try options.decode.limits.check(width: canvas.width, height: canvas.height, frames: frames)
        return try item.image(options.decode, coloring: !color.isGray) { (bitmap) throws(ImagingError) in
            try bitmap.padded(to: canvas, color)
        }
    }

    private func pixels(_ length: Double) -> Int { Int(max(1, min(length, 1e9).rounded())) }
}
