/// Rounds the corners of an image, antialiased.
public struct RoundCornerImageProcessor: ImageProcessor, Equatable {
    /// The radius; at most half the shorter side is used.
    public let radius: CornerRadius
    /// The corners that are rounded.
    public let corners: RectCorner
    /// The size in points to which the image is stretched first; nil keeps its size.
    public let size: SizeSpec?
    /// The colour behind the image, in its corners and behind its transparent pixels.
    public let background: Color

    /// Takes a radius in points and clamps it to 0…``CornerRadius/maximum``.
    public init(
        cornerRadius: Double, targetSize: SizeSpec? = nil, roundingCorners: RectCorner = .all,
        backgroundColor: Color = .transparent
    ) {
        self.init(
            radius: .point(cornerRadius), targetSize: targetSize, roundingCorners: roundingCorners,
            backgroundColor: backgroundColor)
    }

    /// Takes a radius in points or as a fraction of the image, clamped to its range.
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
