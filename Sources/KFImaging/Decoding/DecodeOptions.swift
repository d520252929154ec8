/// How an image is to be decoded.
public struct DecodeOptions: Sendable, Equatable {
    public var limits: DecodeLimits
    /// Decode an animation's first frame alone.
    public var firstFrameOnly: Bool
    /// The result may be smaller than the source, where that saves work, but not smaller than this (as displayed).
    /// Nil asks for the full size.
    public var minimumSize: PixelSize?

    public init(limits: DecodeLimits = .init(), firstFrameOnly: Bool = false, minimumSize: PixelSize? = nil) {
        self.limits = limits
        self.firstFrameOnly = firstFrameOnly
        self.minimumSize = minimumSize
    }
}
