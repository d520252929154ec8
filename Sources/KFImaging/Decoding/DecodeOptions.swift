/// How an image is to be decoded.
public struct DecodeOptions: Sendable, Equatable {
    /// What the image may cost.
    public var limits: DecodeLimits
    /// Decode an animation's first frame alone.
    public var firstFrameOnly: Bool
    /// The result may be smaller than the source, where that saves work, but not smaller than this (as displayed).
    /// Nil asks for the full size.
    public var minimumSize: PixelSize?
    /// The size (as displayed) to resample to while decoding, with Lanczos-3; nil keeps the image's own.
    ///
    /// Rows go through the resampler as they are decoded, so that the picture is not held at its full size, except
    /// where the format leaves no other way (interlaced PNG). A JPEG much larger than this is first decoded at a half,
    /// a quarter or an eighth: at one and a half times the size or more, at up to four times where it has much fine
    /// detail. A lossy WebP is decoded at twice the size or more.
    public var exactSize: PixelSize?
    /// Convert to sRGB by the embedded profile, which is then not carried on. Without lcms2 nothing is converted.
    public var convertsToSRGB: Bool

    /// By default all frames, at their size, in their own colour space.
    public init(
        limits: DecodeLimits = .init(), firstFrameOnly: Bool = false, minimumSize: PixelSize? = nil,
        exactSize: PixelSize? = nil, convertsToSRGB: Bool = false
    ) {
        self.limits = limits
        self.firstFrameOnly = firstFrameOnly
        self.minimumSize = minimumSize
        self.exactSize = exactSize
        self.convertsToSRGB = convertsToSRGB
    }
}
