import CImageCodecs

/// Writes GIF, still or animated: each frame with a palette of its own, and of each only what differs from the last.
enum GIFEncoder {
    static func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        guard image.width <= 65_535, image.height <= 65_535 else {
            throw .encodingFailed(.gif, reason: "a side of more than 65535 pixels")
        }
        guard let writer = kf_gif_writer_create(Allowance.bounds) else { throw .outOfMemory(bytes: 1 << 16) }
        defer { kf_gif_writer_destroy(writer) }
        func check(_ status: kf_status) throws(ImagingError) {
            try CodecStatus.check(
                writing: status, .gif, bytes: image.bitmap.byteCount, kf_gif_writer_message(writer))
        }

        try check(kf_gif_writer_start(writer, UInt32(image.width), UInt32(image.height), repetitions(image)))
        var difference = try FrameDifference(width: image.width, height: image.height)
        var current = try image.frames[0].bitmap.opaqueOrClear(onto: options.background)
        for index in image.frames.indices {
            let next =
                index + 1 < image.frames.count
                ? try image.frames[index + 1].bitmap.opaqueOrClear(onto: options.background) : nil
            let patch = try difference.patch(current, before: next, isFirst: index == 0)
            let indexes = try PatchIndexes(patch, of: difference.changes)
            var frame = kf_gif_frame()
            (frame.left, frame.top) = (UInt32(patch.left), UInt32(patch.top))
            (frame.width, frame.height) = (UInt32(patch.width), UInt32(patch.height))
            frame.disposal = image.isAnimated ? (patch.isClearedAfter ? 2 : 1) : 0
            frame.transparent = indexes.transparent.map { Int32($0) } ?? -1
            frame.delay = image.isAnimated ? hundredths(image.frames[index].delay) : 0
            try indexes.palette.withUnsafeBufferPointer { (palette) throws(ImagingError) in
                frame.palette = palette.baseAddress
                frame.palette_count = UInt32(palette.count / 3)
                try check(kf_gif_writer_frame(writer, &frame))
            }
            try indexes.bytes.withUnsafeBufferPointer { (bytes) throws(ImagingError) in
                guard let first = bytes.baseAddress else { return }
                var pace = Pace()
                let step = Deadline.rowsPerLook(width: patch.width)
                for y in stride(from: 0, to: patch.height, by: step) {
                    let count = min(step, patch.height - y)
                    try pace.advance(count * patch.width)
                    try check(kf_gif_writer_rows(writer, first + y * patch.width, UInt32(count)))
                }
            }
            if let next { current = next }
        }
        var bytes = kf_bytes()
        try check(kf_gif_writer_finish(writer, &bytes))
        return Array(UnsafeBufferPointer(start: bytes.bytes, count: bytes.length))
    }

    /// The file counts repetitions, which are one less than showings; a file that says nothing plays once.
    private static func repetitions(_ image: Image) -> Int32 {
        guard image.isAnimated, image.loopCount != 1 else { return -1 }
        return Int32(min(max(image.loopCount - 1, 0), 65_535))
    }

    /// Rounded; never so short that readers take it for none.
    private static func hundredths(_ delay: Duration) -> UInt32 {
        let (seconds, attoseconds) = delay.components
        let milliseconds = min(seconds, 655) * 1000 + attoseconds / 1_000_000_000_000_000
        return UInt32(min(max((milliseconds + 5) / 10, 2), 65_535))
    }
}
