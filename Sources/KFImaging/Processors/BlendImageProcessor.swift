/// Blends the image onto a background of one colour.
public struct BlendImageProcessor: ImageProcessor, Equatable {
    /// How image and background meet.
    public let mode: BlendMode
    /// Multiplied into the image's own alpha, from 0 to 1.
    public let alpha: Double
    /// What lies behind the image.
    public let background: Color

    /// Nil for an alpha outside 0…1.
    public init?(mode: BlendMode, alpha: Double = 1, background: Color = .transparent) {
        guard (0...1).contains(alpha) else { return nil }
        self.mode = mode
        self.alpha = alpha
        self.background = background
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
