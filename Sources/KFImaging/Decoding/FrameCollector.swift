import Glibc

/// Keeps the frames of an animation, each turned upright, resampled and changed as soon as it is composited.
///
/// Only the canvas is held at full size. The bytes of the kept frames are limited.
struct FrameCollector {
    private let limits: DecodeLimits
    private let plan: DecodePlan
    private let orientation: Orientation
    private let transform: ColorTransform?
    private let change: FrameChange?
    private let count: Int
    private let profile: [UInt8]?
    private(set) var frames: [ImageFrame] = []
    private var bytes = 0

    /// `profile` describes the frames, which have this format.
    ///
    /// - Throws: `animationTooLarge` when the frames certainly exceed the limit.
    init(
        _ options: DecodeOptions, canvas: PixelSize, count: Int, orientation: Orientation = .upright,
        profile: [UInt8]? = nil, of format: PixelFormat = .rgba, change: FrameChange?
    ) throws(ImagingError) {
        limits = options.limits
        plan = try DecodePlan(
            options, source: canvas, orientation: orientation, bytesPerPixel: 4, frames: count)
        self.orientation = orientation
        transform = options.convertsToSRGB ? profile.flatMap { ColorTransform(profile: $0, from: format) } : nil
        self.profile = transform == nil ? profile : nil
        self.change = change
        self.count = count
        let size = plan.exact ?? canvas
        if change == nil, count > 1 { try check(size.width * size.height * 4 * count, size) }
    }

    mutating func add(_ canvas: Bitmap, delay: Duration) throws(ImagingError) {
        var bitmap = canvas
        if let exact = plan.exact { bitmap = try Resampler.resize(bitmap, to: exact) }
        if let transform { bitmap = try transform.converted(bitmap) }
        bitmap = try bitmap.oriented(orientation)
        if let change { bitmap = try change(bitmap) }
        // Consecutive equal frames share their memory.
        if let last = frames.last?.bitmap, last == bitmap { bitmap = last }
        bytes += bitmap.byteCount
        if count > 1 { try check(bytes, bitmap.size) }
        frames.append(ImageFrame(bitmap: bitmap, delay: delay))
    }

    /// Returns the image of the frames; a still one when there is only one frame.
    ///
    /// - Throws: `corrupt` without a frame.
    func image(
        _ format: ImageFormat, loopCount: Int, metadata: ImageMetadata? = nil, warnings: [ImageWarning] = []
    ) throws(ImagingError) -> Image {
        guard var image = Image(frames: frames, loopCount: loopCount, sourceFormat: format, iccProfile: profile) else {
            throw .corrupt(format, reason: "no frame")
        }
        image.metadata = metadata
        image.warnings = warnings
        return image.isAnimated ? image : image.firstFrame
    }

    private func check(_ bytes: Int, _ size: PixelSize) throws(ImagingError) {
        if bytes > limits.maxAnimationBytes {
            throw .animationTooLarge(
                frames: count, width: size.width, height: size.height, maxPixels: limits.maxAnimationBytes / 4)
        }
    }
}

/// Compositing of animations, on RGBA with 8 bits a sample.
extension Bitmap {
    /// Makes the part of a rectangle inside the bitmap transparent.
    mutating func clear(left: Int, top: Int, width: Int, height: Int) throws(ImagingError) {
        try withUnsafeMutableRows { (rows) throws(ImagingError) in
            let right = min(left + width, rows.width)
            guard right > left else { return }
            var pace = Pace()
            for y in top..<max(top, min(top + height, rows.height)) {
                try pace.advance(right - left)
                memset(rows.row(y) + left * 4, 0, (right - left) * 4)
            }
        }
    }

    /// The way in which a frame's pixels change those of the canvas.
    enum Drawing {
        /// In place of the canvas.
        case replacing
        /// Blended over the canvas, rounded to the nearest value.
        case blending
        /// Blended over the canvas with libwebp's arithmetic, so that animations equal those of other WebP decoders.
        case blendingAsLibwebp
    }

    /// Draws a picture, which must fit.
    mutating func draw(_ picture: Bitmap, left: Int, top: Int, _ drawing: Drawing) throws(ImagingError) {
        try withUnsafeMutableRows { (target) throws(ImagingError) in
            try picture.withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<source.height {
                    try pace.advance(source.width)
                    let output = target.row(top + y) + left * 4
                    switch drawing {
                    case .replacing: memcpy(output, source.row(y), source.width * 4)
                    case .blending: blendRow(source.row(y), over: output, source.width, mix: mixRounded)
                    case .blendingAsLibwebp:
                        blendRow(source.row(y), over: output, source.width, mix: mixAsLibwebp)
                    }
                }
            }
        }
    }
}

/// Blends straight alpha with the colours of `mix`, which is called for pixels of which both show.
@inline(__always)
private func blendRow(
    _ source: UnsafePointer<UInt8>, over target: UnsafeMutablePointer<UInt8>, _ count: Int,
    mix: (UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>, _ alpha: UInt32) -> Void
) {
    for offset in stride(from: 0, to: count * 4, by: 4) {
        let above = source + offset
        let below = target + offset
        if above[3] == 0 { continue }
        if above[3] == 255 || below[3] == 0 {
            for channel in 0..<4 { below[channel] = above[channel] }
        } else {
            mix(above, below, UInt32(above[3]))
        }
    }
}

/// Blends one pixel, rounded to the nearest value.
@inline(__always)
private func mixRounded(_ above: UnsafePointer<UInt8>, _ below: UnsafeMutablePointer<UInt8>, _ alpha: UInt32) {
    // Both shares, and their sum, are 255 times the alpha.
    let share = UInt32(below[3]) * (255 - alpha)
    let sum = alpha * 255 + share
    for channel in 0..<3 {
        let mixed = UInt32(above[channel]) * alpha * 255 + UInt32(below[channel]) * share
        below[channel] = UInt8(truncatingIfNeeded: (mixed + sum / 2) / sum)
    }
    below[3] = UInt8(truncatingIfNeeded: (sum + 127) / 255)
}

/// Blends one pixel with libwebp's integer arithmetic.
@inline(__always)
private func mixAsLibwebp(_ above: UnsafePointer<UInt8>, _ below: UnsafeMutablePointer<UInt8>, _ alpha: UInt32) {
    // Parentheses: in Swift, shifts bind tighter than products.
    let share = (UInt32(below[3]) * (256 - alpha)) >> 8
    let sum = alpha + share
    let scale = (1 << 24) / sum
    for channel in 0..<3 {
        let mixed = UInt32(above[channel]) * alpha + UInt32(below[channel]) * share
        below[channel] = UInt8(truncatingIfNeeded: (mixed * scale) >> 24)
    }
    below[3] = UInt8(truncatingIfNeeded: sum)
}
