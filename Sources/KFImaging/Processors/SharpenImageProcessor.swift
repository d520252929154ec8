/// Sharpens with an unsharp mask of amount 1: adds to every pixel its difference from a Gaussian blur.
public struct SharpenImageProcessor: ImageProcessor, Equatable {
    /// The standard deviation of the Gaussian, in pixels.
    public let sigma: Double

    /// The largest sigma; the work grows with it.
    public static let maximumSigma = 100.0

    /// Takes at most ``maximumSigma``; a sigma that is not positive becomes 1.
    public init(sigma: Double) { self.sigma = sigma > 0 ? min(sigma, Self.maximumSigma) : 1 }

    public var identifier: String { "sharpen:\(NumberText.format(sigma))" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode) { (bitmap) throws(ImagingError) in
            try UnsharpMask.sharpen(bitmap.reducedToEightBits(), sigma: sigma)
        }
    }
}
