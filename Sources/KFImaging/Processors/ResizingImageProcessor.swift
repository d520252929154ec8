/// Resizes to a size, up or down, with Lanczos-3.
public struct ResizingImageProcessor: ImageProcessor, Equatable {
    /// What becomes of the aspect.
    public enum Mode: String, Sendable, CaseIterable {
        /// Stretched to exactly the size.
        case none
        /// The largest that fits into the size, aspect kept.
        case fit
        /// The smallest that covers the size, aspect kept.
        case fill

        /// Kingfisher's name for ``fit``.
        public static let aspectFit = Mode.fit
        /// Kingfisher's name for ``fill``.
        public static let aspectFill = Mode.fill
    }

    /// In points. With one side open the other follows from the aspect, whatever the mode.
    public let size: SizeSpec
    /// What becomes of the aspect.
    public let mode: Mode

    /// Kingfisher's `init(referenceSize:mode:)`: a size with both sides, in points. Sides that are not possible count as
    /// the nearest that are.
    public init(width: Double, height: Double, mode: Mode = .none) {
        self.init(size: SizeSpec(possible: width, height), mode: mode)
    }

    /// Stretches unless told otherwise.
    public init(size: SizeSpec, mode: Mode = .none) {
        self.size = size
        self.mode = mode
    }

    public var identifier: String {
        size.width == nil || size.height == nil ? "resize:\(size.text)" : "resize:\(size.text),\(mode.rawValue)"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(
            options.decode,
            resizedTo: { targetSize(width: $0.width, height: $0.height, scaleFactor: options.scaleFactor) })
    }

    /// The size in pixels that an image of this size becomes.
    public func targetSize(width: Int, height: Int, scaleFactor: Double = 1) -> PixelSize {
        let (w, h) = size.scaled(scaleFactor)
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
        // Beyond this every limit refuses it; the conversion must not trap on the way there.
        let cap = 1e9
        return PixelSize(
            width: Int(max(1, min(width, cap).rounded())), height: Int(max(1, min(height, cap).rounded())))
    }
}
