/// Decodes WebP: lossy, lossless, with alpha, animated.
enum WebPDecoder {
    static func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        let deadline = Deadline(options.limits.timeLimit)
        let structure = try WebPStructure(bytes)
        let wanted = options.firstFrameOnly ? min(structure.frames.count, 1) : structure.frames.count
        try options.limits.check(width: structure.width, height: structure.height, frames: max(wanted, 1))
        if !structure.isComplete { throw .truncated(.webp) }
        guard let first = structure.frames.first else { throw .corrupt(.webp, reason: "no picture") }
        let profile = ICCProfile.fitting(structure.profile.map { Array(bytes[$0]) }, .rgb)

        if !structure.isAnimated {
            guard first.width == structure.width, first.height == structure.height else {
                throw .corrupt(.webp, reason: "a picture of another size than stated")
            }
            let bitmap = try picture(first, of: bytes, format: first.hasAlpha ? .rgba : .rgb, deadline)
            return Image(
                try bitmap.oriented(structure.orientation), sourceFormat: .webp, iccProfile: profile)
        }
        let frames = try animation(structure, wanted, of: bytes, deadline)
        guard
            var image = Image(
                frames: frames, loopCount: structure.loopCount, sourceFormat: .webp, iccProfile: profile)
        else { throw .corrupt(.webp, reason: "no frame") }
        if !image.isAnimated { image = image.firstFrame }
        return try image.mapBitmaps { (bitmap) throws(ImagingError) in try bitmap.oriented(structure.orientation) }
    }

    private static func picture(
        _ frame: WebPStructure.Frame, of bytes: UnsafeRawBufferPointer, format: PixelFormat, _ deadline: Deadline
    ) throws(ImagingError) -> Bitmap {
        var bitmap = try Bitmap(uninitialized: frame.width, frame.height, format)
        let source = PixelSize(width: frame.width, height: frame.height)
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            try WebPReader.decode(
                UnsafeRawBufferPointer(rebasing: bytes[frame.data]), source: source, into: rows, deadline)
        }
        return bitmap
    }

    private static func animation(
        _ structure: WebPStructure, _ wanted: Int, of bytes: UnsafeRawBufferPointer, _ deadline: Deadline
    ) throws(ImagingError) -> [ImageFrame] {
        var canvas = try Bitmap(width: structure.width, height: structure.height, format: .rgba)
        var frames: [ImageFrame] = []
        for frame in structure.frames.prefix(wanted) {
            guard frame.left + frame.width <= canvas.width, frame.top + frame.height <= canvas.height else {
                throw .corrupt(.webp, reason: "a frame outside the canvas")
            }
            let picture = try picture(frame, of: bytes, format: .rgba, deadline)
            try canvas.draw(picture, left: frame.left, top: frame.top, blending: frame.blends)
            frames.append(ImageFrame(bitmap: canvas, delay: .milliseconds(frame.duration)))
            if frame.clears {
                try canvas.clear(left: frame.left, top: frame.top, width: frame.width, height: frame.height)
            }
            try deadline.check()
        }
        return frames
    }
}
