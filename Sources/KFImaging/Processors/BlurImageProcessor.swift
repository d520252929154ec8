/// Blurs with up to three box blurs, which approximate a Gaussian.
public struct BlurImageProcessor: ImageProcessor, Equatable {
    /// The radius in pixels.
    public let radius: Double

    /// The largest radius.
    public static let maximumRadius = 10_000.0

    /// Clamps the radius to 0…``maximumRadius``.
    public init(blurRadius: Double) { radius = blurRadius.clamped(to: 0...Self.maximumRadius) }

    public var identifier: String { "blur:\(NumberText.format(radius))" }

    /// The side of the box in pixels; always odd.
    var boxSize: Int {
        let deviation = max(radius, 2)
        let side = Int(clamping: (deviation * 3 * (2 * Double.pi).squareRoot() / 4 + 0.5).rounded(.down))
        return side | 1
    }

    /// The number of box blurs.
    var passes: Int {
        radius < 0.5 ? 1 : radius < 1.5 ? 2 : 3
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode) { (bitmap) throws(ImagingError) in
            try BoxBlur.blur(bitmap.reducedToEightBits(), box: boxSize, passes: passes)
        }
    }
}
