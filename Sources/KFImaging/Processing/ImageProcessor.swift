/// Makes one image from another.
///
/// The identifier is part of the cache key: two processors with the same identifier must give the same pixels.
public protocol ImageProcessor: Sendable {
    /// The processor's name with all its parameters. For kf's own processors it is the text that
    /// `ProcessorParser.parse(_:)` parses; a processor of your own needs a unique name.
    var identifier: String { get }

    /// Processes an image on the calling thread.
    func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image
}

/// The options of a processor beside its own parameters.
public struct ProcessingOptions: Sendable, Equatable {
    /// The options for decoding an item that is still bytes.
    public var decode: DecodeOptions
    /// The number of pixels of a point; the sizes of processors are in points.
    public var scaleFactor: Double

    /// By default, decodes all frames, and a point is a pixel.
    public init(decode: DecodeOptions = .init(), scaleFactor: Double = 1) {
        self.decode = decode
        self.scaleFactor = scaleFactor
    }
}
