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
