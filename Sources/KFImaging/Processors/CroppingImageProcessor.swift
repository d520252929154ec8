/// Crops an image to a rectangle.
public struct CroppingImageProcessor: ImageProcessor, Equatable {
    /// The position of the rectangle in the image: 0 is left or top, 1 is right or bottom.
    public struct Anchor: Sendable, Equatable {
        /// The horizontal position, from 0 (left) to 1 (right).
        public let x: Double
        /// The vertical position, from 0 (top) to 1 (bottom).
        public let y: Double

        /// Clamps both values to 0…1.
        public init(x: Double, y: Double) {
            self.x = Anchor.clamped(x)
            self.y = Anchor.clamped(y)
        }

        /// The centre.
        public static let center = Anchor(x: 0.5, y: 0.5)

        private static func clamped(_ value: Double) -> Double { value > 0 ? min(value, 1) : 0 }
    }

    /// The width in points.
    public let width: Double
    /// The height in points.
    public let height: Double
    /// The position of the rectangle.
    public let anchor: Anchor

    /// Takes sides of at most ``SizeSpec/maximum``; zero, negative sides and NaN become 1.
    public init(width: Double, height: Double, anchor: Anchor = .center) {
        self.width = SizeSpec.possible(width)
        self.height = SizeSpec.possible(height)
        self.anchor = anchor
    }

    public var identifier: String {
        "crop:\(NumberText.format(width))x\(NumberText.format(height))"
            + ",anchor=\(NumberText.format(anchor.x))x\(NumberText.format(anchor.y))"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode) { (bitmap) throws(ImagingError) in
            let rectangle = rectangle(width: bitmap.width, height: bitmap.height, scaleFactor: options.scaleFactor)
            return try bitmap.cropped(
                x: rectangle.x, y: rectangle.y, width: rectangle.size.width, height: rectangle.size.height)
        }
    }

    /// Returns the rectangle in pixels for an image of this size, clipped to the image.
    func rectangle(width: Int, height: Int, scaleFactor: Double = 1) -> (x: Int, y: Int, size: PixelSize) {
        let (x, wide) = span(self.width * scaleFactor, of: width, anchor.x)
        let (y, tall) = span(self.height * scaleFactor, of: height, anchor.y)
        return (x, y, PixelSize(width: wide, height: tall))
    }

    private func span(_ length: Double, of whole: Int, _ anchor: Double) -> (start: Int, length: Int) {
        let length = SizeSpec.pixels(length)
        let start = Int((anchor * Double(whole - length)).rounded(.down))
        let first = max(start, 0)
        return (first, max(1, min(start + length, whole) - first))
    }
}
