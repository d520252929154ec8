/// Cuts off borders of one colour; 16 bits stay 16.
///
/// The colour is that of the pixel at the top left of the first frame. A row or a column at an edge belongs to the border
/// if all its samples, premultiplied by alpha, differ from the colour by at most the tolerance. An animation keeps what
/// any frame shows. An image of one colour stays as it is.
public struct TrimmingImageProcessor: ImageProcessor, Equatable {
    /// The largest difference of a sample from the colour, from 0 to 255; samples of 16 bits count in the same unit.
    public let tolerance: Double

    /// The range of the tolerance.
    public static let toleranceRange = 0.0...255.0
    /// The tolerance by default, which covers the noise of a JPEG.
    public static let standardTolerance = 10.0

    /// Clamps the tolerance to 0…255.
    public init(tolerance: Double = Self.standardTolerance) {
        self.tolerance = tolerance.clamped(to: Self.toleranceRange)
    }

    public var identifier: String { "trim:\(NumberText.format(tolerance))" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        // The border of an animation is known only after its last frame.
        let image = try item.image(options.decode)
        return try Allowance.within(options.decode.limits, fileBytes: nil) { () throws(ImagingError) in
            let scan = BorderScan(colorOf: image.bitmap, tolerance: tolerance)
            var content: BorderScan.Content?
            for frame in image.frames { content = try scan.content(of: frame.bitmap, with: content) }
            guard let rectangle = content?.rectangle else { return image }
            return try image.mapBitmaps { (bitmap) throws(ImagingError) in try bitmap.cropped(to: rectangle) }
        }
    }
}
