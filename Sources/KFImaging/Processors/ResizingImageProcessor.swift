/// Resizes an image with Lanczos-3; enlarges too, unless it only shrinks.
public struct ResizingImageProcessor: ImageProcessor, Equatable {
    /// The treatment of the aspect ratio.
    public enum Mode: String, Sendable, CaseIterable {
        /// Stretches to exactly the size.
        case none
        /// Keeps the aspect ratio; the largest result that fits into the size.
        case fit
        /// Keeps the aspect ratio; the smallest result that covers the size.
        case fill

        /// Kingfisher's name for ``fit``.
        public static let aspectFit = Mode.fit
        /// Kingfisher's name for ``fill``.
        public static let aspectFill = Mode.fill
    }

    /// The size in points. An open side follows from the other and the aspect ratio, whatever the mode.
    public let size: SizeSpec
    /// The treatment of the aspect ratio.
    public let mode: Mode
    /// Whether an image that would be enlarged keeps its size; a stretched one, the side that would grow.
    public let shrink: Bool

    /// Kingfisher's `init(referenceSize:mode:)`: takes both sides in points, at most ``SizeSpec/maximum``.
    ///
    /// Zero, negative sides and NaN become 1.
    public init(width: Double, height: Double, mode: Mode = .none, shrink: Bool = false) {
        self.init(size: SizeSpec(possible: width, height), mode: mode, shrink: shrink)
    }

    /// Makes a processor; by default it stretches.
    public init(size: SizeSpec, mode: Mode = .none, shrink: Bool = false) {
        self.size = size
        self.mode = mode
        self.shrink = shrink
    }

    /// Makes a processor that fills the size and crops the rest: a resize with ``Mode/fill``, then a crop. The result has
    /// exactly the size, unless `shrink` keeps a smaller image from being enlarged. In text it is `resize:WxH,cover`.
    public static func covering(
        width: Double, height: Double, anchor: CroppingImageProcessor.Anchor = .center, shrink: Bool = false
    ) -> any ImageProcessor {
        ResizingImageProcessor(width: width, height: height, mode: .fill, shrink: shrink)
            .append(another: CroppingImageProcessor(width: width, height: height, anchor: anchor))
    }

    public var identifier: String {
        "resize:\(size.text)" + (size.width == nil || size.height == nil ? "" : ",\(mode.rawValue)")
            + (shrink ? ",shrink" : "")
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(
            options.decode,
            resizedTo: { targetSize(width: $0.width, height: $0.height, scaleFactor: options.scaleFactor) })
    }

    package func targetSize(width: Int, height: Int, scaleFactor: Double = 1) -> PixelSize {
        let target = freeSize(width: width, height: height, scaleFactor: scaleFactor)
        guard shrink, target.width > width || target.height > height else { return target }
        let isStretched = mode == .none && size.width != nil && size.height != nil
        return isStretched
            ? PixelSize(width: min(width, target.width), height: min(height, target.height))
            : PixelSize(width: width, height: height)
    }

    /// The size without regard to `shrink`.
    private func freeSize(width: Int, height: Int, scaleFactor: Double) -> PixelSize {
        if let percent = size.percent {
            return pixels(Double(width) * percent / 100, Double(height) * percent / 100)
        }
        let (w, h) = (size.width.map { $0 * scaleFactor }, size.height.map { $0 * scaleFactor })
        let (sourceWidth, sourceHeight) = (Double(width), Double(height))
        switch (w, h) {
        case (let w?, let h?):
            let wide = (sourceWidth / sourceHeight * h).rounded()
            let tall = (w / sourceWidth * sourceHeight).rounded()
            switch mode {
            case .none: return pixels(w, h)
            case .fit: return wide > w ? pixels(w, tall) : pixels(wide, h)
            case .fill: return wide < w ? pixels(w, tall) : pixels(wide, h)
            }
        case (let w?, nil): return pixels(w, w / sourceWidth * sourceHeight)
        case (nil, let h?): return pixels(h / sourceHeight * sourceWidth, h)
        case (nil, nil): return PixelSize(width: width, height: height)
        }
    }

    private func pixels(_ width: Double, _ height: Double) -> PixelSize {
        PixelSize(width: SizeSpec.pixels(width), height: SizeSpec.pixels(height))
    }
}
