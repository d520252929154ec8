/// Blends the image onto a background colour.
public struct BlendImageProcessor: ImageProcessor, Equatable {
    /// The blend mode.
    public let mode: BlendMode
    /// The factor of the image's alpha, from 0 to 1.
    public let alpha: Double
    /// The colour behind the image.
    public let background: Color

    /// Clamps `alpha` to 0…1.
    public init(blendMode: BlendMode, alpha: Double = 1, backgroundColor: Color = .transparent) {
        mode = blendMode
        self.alpha = alpha.clamped(to: 0...1)
        background = backgroundColor
    }

    public var identifier: String {
        "blend:\(mode.rawValue),alpha=\(NumberText.format(alpha)),background=\(background.hexadecimal)"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        var compositor = Compositor(mode: mode, opacity: alpha, background: background)
        let coloring = !background.isGray && background.alpha > 0
        return try item.image(options.decode, coloring: coloring) { (bitmap) throws(ImagingError) in
            try compositor.blend(bitmap)
        }
    }
}
