/// Cuts corners off round, antialiased.
public struct RoundCornerImageProcessor: ImageProcessor, Equatable {
    /// At most half the shorter side is taken.
    public let radius: CornerRadius
    /// Those that are cut; the others stay square.
    public let corners: RectCorner
    /// In points; what the image is stretched to first. Nil leaves its size.
    public let size: SizeSpec?
    /// What lies behind the image, in the corners and where it is transparent itself.
    public let background: Color

    /// Cuts corners off with a radius in points. One that is not possible counts as the nearest that is.
    public init(
        cornerRadius: Double, targetSize: SizeSpec? = nil, roundingCorners: RectCorner = .all,
        backgroundColor: Color = .transparent
    ) {
        self.init(
            radius: .point(cornerRadius), targetSize: targetSize, roundingCorners: roundingCorners,
            backgroundColor: backgroundColor)
    }

    /// The same with a radius that may be a share of the image.
    public init(
        radius: CornerRadius, targetSize: SizeSpec? = nil, roundingCorners: RectCorner = .all,
        backgroundColor: Color = .transparent
    ) {
        self.radius = radius.possible
        corners = roundingCorners.intersection(.all)
        size = targetSize
        background = backgroundColor
    }

    public var identifier: String {
        "round-corner:\(radius.text),corners=\(corners.text)" + (size.map { ",size=\($0.text)" } ?? "")
            + ",background=\(background.hexadecimal)"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        var item = item
        if let size { item = .image(try ResizingImageProcessor(size: size).process(item, options: options)) }
        let coloring = !background.isGray && background.alpha > 0
        return try item.image(options.decode, coloring: coloring) { (bitmap) throws(ImagingError) in
            try round(bitmap, options.scaleFactor)
        }
    }

    private func round(_ bitmap: Bitmap, _ scaleFactor: Double) throws(ImagingError) -> Bitmap {
        let (width, height) = (bitmap.width, bitmap.height)
        let shape = RoundedRectangle(
            width: width, height: height,
            radius: radius.pixels(width: width, height: height, scaleFactor: scaleFactor), corners: corners)
        return try ShapeDrawing.clip(bitmap.reducedToEightBits(), to: shape, over: background)
    }
}
