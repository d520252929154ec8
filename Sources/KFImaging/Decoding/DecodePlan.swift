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
