/// Sharpens with an unsharp mask of amount 1: to every pixel its difference from its blurred surroundings is added.
public struct SharpenImageProcessor: ImageProcessor, Equatable {
    /// The standard deviation of the blur, a Gaussian, in pixels.
    public let sigma: Double

    /// The largest sigma that can be asked for: the work grows with it.
    public static let maximumSigma = 100.0

    /// A sigma that is not above 0 counts as 1, one above ``maximumSigma`` as that.
    public init(sigma: Double) { self.sigma = sigma > 0 ? min(sigma, Self.maximumSigma) : 1 }

    public var identifier: String { "sharpen:\(NumberText.format(sigma))" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode) { (bitmap) throws(ImagingError) in
            try UnsharpMask.sharpen(bitmap.reducedToEightBits(), sigma: sigma)
        }
    }
}
