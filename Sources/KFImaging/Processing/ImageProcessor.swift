/// Makes one image of another.
///
/// The identifier is part of the cache key: two processors with the same identifier must give the same pixels.
public protocol ImageProcessor: Sendable {
    /// Names the processor with all its parameters. For kf's own processors it is the text that
    /// `ProcessorParser.parse(_:)` reads; a processor of your own takes a name that no other has.
    var identifier: String { get }

    /// Runs on the calling thread.
    func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image
}

/// What a processor is told beside its own parameters.
public struct ProcessingOptions: Sendable, Equatable {
    /// For items that are still data.
    public var decode: DecodeOptions
    /// Pixels a point: processors' sizes are in points.
    public var scaleFactor: Double

    /// By default all frames, and points that are pixels.
    public init(decode: DecodeOptions = .init(), scaleFactor: Double = 1) {
        self.decode = decode
        self.scaleFactor = scaleFactor
    }
}
