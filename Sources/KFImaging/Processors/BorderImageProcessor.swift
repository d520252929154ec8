/// Strokes the image's edge on its inside, antialiased. Pixels outside a rounded corner of the stroke are kept.
public struct BorderImageProcessor: ImageProcessor, Equatable {
    /// A stroke along the image's edge; Kingfisher's `Border`.
    public struct Border: Sendable, Equatable {
        /// The colour of the stroke.
        public let color: Color
        /// The width of the stroke in points.
        public let lineWidth: Double
        /// The radius of the stroke's outer edge; at most half the shorter side is used.
        public let radius: CornerRadius
        /// The corners that are rounded.
        public let roundingCorners: RectCorner

        /// Clamps width and radius to their ranges; a width of 0 becomes 1.
        public init(
            color: Color = .black, lineWidth: Double = 4, radius: CornerRadius = .point(0),
            roundingCorners: RectCorner = .all
        ) {
            self.color = color
            self.lineWidth = SizeSpec.possible(lineWidth)
            self.radius = radius.possible
            self.roundingCorners = roundingCorners.intersection(.all)
        }
    }

    /// The stroke.
    public let border: Border

    /// The largest width of a border.
    public static let maximumWidth = SizeSpec.maximum

    /// Makes a processor that draws this border.
    public init(border: Border) { self.border = border }

    public var identifier: String {
        "border:\(NumberText.format(border.lineWidth)),\(border.color.hexadecimal),radius=\(border.radius.text)"
            + ",corners=\(border.roundingCorners.text)"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let (color, lineWidth, radius) = (border.color, border.lineWidth, border.radius)
        let corners = border.roundingCorners
        return try item.image(options.decode, coloring: !color.isGray && color.alpha > 0) {
            (bitmap) throws(ImagingError) in
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
