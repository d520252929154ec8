/// What becomes of a frame between its compositing and its being kept.
typealias FrameChange = (Bitmap) throws(ImagingError) -> Bitmap

/// Keeps an animation's frames as they are composited, each one already turned, resampled and changed, so that of the
/// full-size pictures there is never more than the canvas, and no more is kept than the limit allows.
struct FrameCollector {
    private let limits: DecodeLimits
    private let plan: DecodePlan
    private let orientation: Orientation
    private let transform: ColorTransform?
    private let change: FrameChange?
    private let count: Int
    private(set) var frames: [ImageFrame] = []
    private var bytes = 0

    /// - Throws: `animationTooLarge` when it is plain from the start that the frames will not fit.
    init(
        _ options: DecodeOptions, canvas: PixelSize, count: Int, orientation: Orientation = .upright,
        transform: ColorTransform? = nil, change: FrameChange?
    ) throws(ImagingError) {
        limits = options.limits
        plan = try DecodePlan(
            options, source: canvas, orientation: orientation, bytesPerPixel: 4, frames: count)
        self.orientation = orientation
        self.transform = transform
        self.change = change
        self.count = count
        let size = plan.exact ?? canvas
        if change == nil, count > 1 { try check(size.width * size.height * 4 * count, size) }
    }

    mutating func add(_ canvas: Bitmap, delay: Duration) throws(ImagingError) {
        var bitmap = canvas
        if let exact = plan.exact { bitmap = try Resampler.resize(bitmap, to: exact) }
        if let transform {
            try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<rows.height {
                    try pace.advance(rows.width * 8)
                    transform.convert(rows.row(y), to: rows.row(y), rows.width)
                }
            }
        }
        bitmap = try bitmap.oriented(orientation)
        if let change { bitmap = try change(bitmap) }
        // Equal frames share their memory.
        if let last = frames.last?.bitmap, last == bitmap { bitmap = last }
        bytes += bitmap.byteCount
        if count > 1 { try check(bytes, PixelSize(width: bitmap.width, height: bitmap.height)) }
        frames.append(ImageFrame(bitmap: bitmap, delay: delay))
    }

    private func check(_ bytes: Int, _ size: PixelSize) throws(ImagingError) {
        if bytes > limits.maxAnimationBytes {
            throw .animationTooLarge(
                frames: count, width: size.width, height: size.height, maxPixels: limits.maxAnimationBytes / 4)
        }
    }
}
