/// How an image is decoded.
public struct DecodeOptions: Sendable, Equatable {
    /// The limits for the work on the image.
    public var limits: DecodeLimits
    /// Whether only the first frame of an animation is decoded.
    ///
    /// The first frame of an animated PNG need not be its default image, which programs without animations show.
    public var firstFrameOnly: Bool
    /// The smallest acceptable result, as displayed: the decoder may reduce the image to it to save work. Nil is the
    /// full size.
    public var minimumSize: PixelSize?
    /// The size, as displayed, to which the image is resampled with Lanczos-3 while it is decoded. Nil keeps its size.
    ///
    /// Rows are resampled as they are decoded; only an interlaced PNG and a BMP of run lengths are held at their full
    /// size. A much larger JPEG is decoded at a half, a quarter or an eighth: at 1.5 times this size or more, and up to
    /// 4 times for fine detail. A lossy WebP is decoded at twice this size or more, a
    /// lossy JPEG XL at an eighth, and boxes of a HEIC are averaged down to 4 times this size.
    public var exactSize: PixelSize?
    /// Whether the pixels are converted from the embedded profile to sRGB, without a profile. Needs lcms2.
    public var convertsToSRGB: Bool

    /// By default, decodes all frames at their size in their own colour space.
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

/// The size at which a picture is decoded and the size of the result, both as stored (before the orientation is
/// applied).
///
/// Both depend only on the options and the source, so that equal requests give equal pixels.
struct DecodePlan {
    let source: PixelSize
    /// The size to which the rows are resampled; nil for no resampling.
    let exact: PixelSize?
    /// The smallest size at which the decoder may decode; nil is the full size.
    let minimum: PixelSize?

    init(
        _ options: DecodeOptions, source: PixelSize, orientation: Orientation = .upright, bytesPerPixel: Int,
        frames: Int = 1
    ) throws(ImagingError) {
        self.source = source
        func stored(_ size: PixelSize?) -> PixelSize? { orientation.swapsSides ? size?.turned : size }
        if let exact = stored(options.exactSize) {
            try options.limits.check(exact, frames: frames)
            self.exact = exact == source ? nil : exact
            minimum = DecodePlan.enough(for: exact)
            return
        }
        let minimum = stored(options.minimumSize)
        let fitting = DecodePlan.fitting(source, options.limits.scaleDownBytes, bytesPerPixel * frames)
        // A decode at the minimum may fit the budget by itself. Because that depends on the decoder, the picture is
        // resampled to fit the budget unless the minimum is smaller.
        if let fitting, minimum.map({ $0.width >= fitting.width || $0.height >= fitting.height }) ?? true {
            exact = fitting
            self.minimum = DecodePlan.enough(for: fitting)
        } else {
            exact = nil
            self.minimum = minimum
        }
    }

    /// Returns the size to which each request resamples a picture; nil for one that does not.
    static func targets(
        _ requests: [DecodeOptions], source: PixelSize, orientation: Orientation = .upright, bytesPerPixel: Int
    ) throws(ImagingError) -> [PixelSize?] {
        try requests.map { (request) throws(ImagingError) in
            try DecodePlan(request, source: source, orientation: orientation, bytesPerPixel: bytesPerPixel).exact
        }
    }

    /// Returns the smallest size from which a picture may be resampled to the target: 1.5 times the target.
    ///
    /// Decoders reduce a picture by dropping frequencies or by averages. From 1.5 times the target the result is
    /// invisibly close to a full decode (48 dB); from the target itself it is 42 dB.
    static func enough(for target: PixelSize) -> PixelSize {
        PixelSize(width: (target.width * 3 + 1) / 2, height: (target.height * 3 + 1) / 2)
    }

    /// Returns the largest size with the source's aspect ratio whose pixels fit into `maxBytes`; nil when the source
    /// fits.
    private static func fitting(_ source: PixelSize, _ maxBytes: Int?, _ bytesPerPixel: Int) -> PixelSize? {
        guard let maxBytes else { return nil }
        let pixels = max(maxBytes, 1) / max(bytesPerPixel, 1)
        guard source.width * source.height > pixels else { return nil }
        let factor = (Double(max(pixels, 1)) / Double(source.width * source.height)).squareRoot()
        return PixelSize(
            width: max(1, Int(clamping: (Double(source.width) * factor).rounded(.down))),
            height: max(1, Int(clamping: (Double(source.height) * factor).rounded(.down))))
    }
}
