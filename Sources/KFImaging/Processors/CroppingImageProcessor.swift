/// Cuts a rectangle out.
public struct CroppingImageProcessor: ImageProcessor, Equatable {
    /// Which part stays: 0 is left or top, 1 right or bottom.
    public struct Anchor: Sendable, Equatable {
        /// From 0, left, to 1, right.
        public let x: Double
        /// From 0, top, to 1, bottom.
        public let y: Double

        /// Values outside 0…1 are taken as the nearest.
        public init(x: Double, y: Double) {
            self.x = Anchor.clamped(x)
            self.y = Anchor.clamped(y)
        }

        /// As much goes on each side.
        public static let center = Anchor(x: 0.5, y: 0.5)

        private static func clamped(_ value: Double) -> Double { value > 0 ? min(value, 1) : 0 }
    }

    /// In points.
    public let width: Double
    /// In points.
    public let height: Double
    /// Which part stays.
    public let anchor: Anchor

    /// Sides that are not possible count as the nearest that are: at least 1, at most `SizeSpec.maximum`.
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

    /// The part that stays of an image of this size, in pixels; a larger rectangle is cut to the image.
    public func rectangle(width: Int, height: Int, scaleFactor: Double = 1) -> (x: Int, y: Int, size: PixelSize) {
        let (x, wide) = span(self.width * scaleFactor, of: width, anchor.x)
        let (y, tall) = span(self.height * scaleFactor, of: height, anchor.y)
        return (x, y, PixelSize(width: wide, height: tall))
    }

    private func span(_ length: Double, of whole: Int, _ anchor: Double) -> (start: Int, length: Int) {
        let length = Int(max(1, min(length, 1e9).rounded()))
        let start = Int((anchor * Double(whole - length)).rounded(.down))
        let first = max(start, 0)
        return (first, max(1, min(start + length, whole) - first))
    }
}
