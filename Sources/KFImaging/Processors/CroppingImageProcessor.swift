/// Crops an image to a rectangle.
public struct CroppingImageProcessor: ImageProcessor, Equatable {
    /// The rule that places the rectangle by the content of the image. An animation is placed by its first frame.
    public enum Interest: String, Sendable, CaseIterable {
        /// The place with the most skin, edges and saturated reds, as in libvips.
        case attention
        /// The part whose samples differ most: strips with the least information are cut off from the edges.
        case entropy
    }

    /// The position of the rectangle in the image: 0 is left or top, 1 is right or bottom.
    public struct Anchor: Sendable, Equatable {
        /// The horizontal position, from 0 (left) to 1 (right).
        public let x: Double
        /// The vertical position, from 0 (top) to 1 (bottom).
        public let y: Double
        /// The rule that finds the position in the image; nil for the fixed position.
        public let interest: Interest?

        /// Clamps both values to 0…1.
        public init(x: Double, y: Double) {
            self.x = x.clamped(to: 0...1)
            self.y = y.clamped(to: 0...1)
            interest = nil
        }

        /// Places the rectangle by the content of the image.
        public init(_ interest: Interest) {
            (x, y, self.interest) = (0.5, 0.5, interest)
        }

        /// The centre.
        public static let center = Anchor(x: 0.5, y: 0.5)
        /// The place that draws attention.
        public static let attention = Anchor(.attention)
        /// The part with the most information.
        public static let entropy = Anchor(.entropy)

        /// The form in identifiers.
        var text: String { interest?.rawValue ?? "\(NumberText.format(x))x\(NumberText.format(y))" }
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
            + ",anchor=\(anchor.text)"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        // All frames of an animation are cropped alike.
        var chosen: PixelRectangle?
        return try item.image(options.decode) { (bitmap) throws(ImagingError) in
            if let chosen { return try bitmap.cropped(to: chosen) }
            let rectangle = try rectangle(in: bitmap, scaleFactor: options.scaleFactor)
            chosen = rectangle
            return try bitmap.cropped(to: rectangle)
        }
    }

    /// Returns the rectangle in pixels for an image of this size, clipped to the image.
    func rectangle(width: Int, height: Int, scaleFactor: Double = 1) -> PixelRectangle {
        let (x, wide) = span(self.width * scaleFactor, of: width, anchor.x)
        let (y, tall) = span(self.height * scaleFactor, of: height, anchor.y)
        return PixelRectangle(x: x, y: y, size: PixelSize(width: wide, height: tall))
    }

    private func rectangle(in bitmap: Bitmap, scaleFactor: Double) throws(ImagingError) -> PixelRectangle {
        let fixed = rectangle(width: bitmap.width, height: bitmap.height, scaleFactor: scaleFactor)
        switch anchor.interest {
        case nil: return fixed
        case .attention: return try Attention.rectangle(fixed.size, in: bitmap)
        case .entropy: return try Entropy.rectangle(fixed.size, in: bitmap)
        }
    }

    private func span(_ length: Double, of whole: Int, _ anchor: Double) -> (start: Int, length: Int) {
        let length = SizeSpec.pixels(length)
        let start = Int(clamping: (anchor * Double(whole - length)).rounded(.down))
        let first = max(start, 0)
        return (first, max(1, min(start + length, whole) - first))
    }
}
