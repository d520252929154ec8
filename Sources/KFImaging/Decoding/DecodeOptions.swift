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

extension DecodeOptions {
    /// The same options for a result of exactly this size.
    func sized(_ size: PixelSize) -> DecodeOptions {
        var options = self
        options.exactSize = size
        return options
    }
}

/// What size a picture is decoded at and what size it comes out at, both as it is stored, before it is turned.
///
/// Both follow from the options and the source alone, so that the same request always gives the same pixels.
struct DecodePlan {
    let source: PixelSize
    /// The size that the rows are resampled to; nil where they stay as they are decoded.
    let exact: PixelSize?
    /// The decoder may make less of the source than all, but not less than this; nil asks for all of it.
    let minimum: PixelSize?

    init(
        _ options: DecodeOptions, source: PixelSize, orientation: Orientation = .upright, bytesPerPixel: Int,
        frames: Int = 1
    ) throws(ImagingError) {
        self.source = source
        func stored(_ size: PixelSize?) -> PixelSize? { orientation.swapsSides ? size?.turned : size }
        if let exact = stored(options.exactSize) {
            try options.limits.check(width: exact.width, height: exact.height, frames: frames)
            self.exact = exact == source ? nil : exact
            minimum = DecodePlan.enough(for: exact)
            return
        }
        let minimum = stored(options.minimumSize)
        let fitting = DecodePlan.fitting(source, options.limits.scaleDownBytes, bytesPerPixel * frames)
        // A decoder that makes less of the picture for the minimum's sake may come below the budget by itself; as that
        // depends on the decoder, the budget is kept by resampling only where the minimum does not ask for less.
        if let fitting, minimum.map({ $0.width >= fitting.width || $0.height >= fitting.height }) ?? true {
            exact = fitting
            self.minimum = DecodePlan.enough(for: fitting)
        } else {
            exact = nil
            self.minimum = minimum
        }
    }

    /// What must at least go into a resampling. Decoders make a picture smaller by dropping frequencies or by plain
    /// averages; half as large again as the target keeps the difference to a full decode out of sight (48 dB; at
    /// exactly the target it is 42).
    private static func enough(for target: PixelSize) -> PixelSize {
        PixelSize(width: (target.width * 3 + 1) / 2, height: (target.height * 3 + 1) / 2)
    }

    /// The largest size of the same shape whose pixels fit into so many bytes; nil when the source's do, or anything
    /// may be taken.
    private static func fitting(_ source: PixelSize, _ maxBytes: Int?, _ bytesPerPixel: Int) -> PixelSize? {
        guard let maxBytes else { return nil }
        let pixels = max(maxBytes, 1) / max(bytesPerPixel, 1)
        guard source.width * source.height > pixels else { return nil }
        let factor = (Double(max(pixels, 1)) / Double(source.width * source.height)).squareRoot()
        return PixelSize(
            width: max(1, Int((Double(source.width) * factor).rounded(.down))),
            height: max(1, Int((Double(source.height) * factor).rounded(.down))))
    }
}
