/// Strokes the image's edge on its inside, antialiased. What lies outside a rounded corner of the stroke stays as it is.
public struct BorderImageProcessor: ImageProcessor, Equatable {
    /// In points.
    public let lineWidth: Double
    /// Of the stroke.
    public let color: Color
    /// Of the stroke's outer edge; at most half the shorter side is taken.
    public let radius: CornerRadius
    /// The corners that are rounded.
    public let corners: RectCorner

    /// The width that a border can have at most.
    public static let maximumWidth = SizeSpec.maximum

    /// Nil for a width that is not above 0 or too large, a radius that is not possible, and for no corners.
    public init?(
        lineWidth: Double = 4, color: Color = .black, radius: CornerRadius = .points(0), corners: RectCorner = .all
    ) {
        guard lineWidth > 0, lineWidth <= BorderImageProcessor.maximumWidth, radius.isPossible,
            !corners.intersection(.all).isEmpty
        else { return nil }
        self.lineWidth = lineWidth
        self.color = color
        self.radius = radius
        self.corners = corners.intersection(.all)
    }

    public var identifier: String {
        "border:\(NumberText.format(lineWidth)),\(color.hexadecimal),radius=\(radius.text),corners=\(corners.text)"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode, coloring: !color.isGray && color.alpha > 0) { (bitmap) throws(ImagingError) in
            let (width, height) = (bitmap.width, bitmap.height)
            let inset = max(0, lineWidth * options.scaleFactor)
            let outer = radius.pixels(width: width, height: height, scaleFactor: options.scaleFactor)
            let isFilled = 2 * inset >= Double(min(width, height))
            return try ShapeDrawing.stroke(
                bitmap.reducedToEightBits(),
                RoundedRectangle(width: width, height: height, radius: outer, corners: corners),
                without: isFilled
                    ? nil
                    : RoundedRectangle(
                        width: width, height: height, inset: inset, radius: max(0, outer - inset), corners: corners),
                color)
        }
    }
}
