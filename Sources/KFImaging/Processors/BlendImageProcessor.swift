/// Blends the image onto a background of one colour.
public struct BlendImageProcessor: ImageProcessor, Equatable {
    /// How image and background meet.
    public let mode: BlendMode
    /// Multiplied into the image's own alpha, from 0 to 1.
    public let alpha: Double
    /// What lies behind the image.
    public let background: Color

    /// An alpha outside 0…1 counts as the nearest in it.
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
