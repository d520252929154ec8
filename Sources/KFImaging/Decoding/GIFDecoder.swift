/// Decodes GIF: every frame composited onto the canvas, with all ways of disposal.
enum GIFDecoder {
    static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange? = nil
    ) throws(ImagingError) -> Image {
        let deadline = Allowance.deadline(options.limits)
        let structure = try GIFStructure(bytes)
        let wanted = options.firstFrameOnly ? min(structure.frames, 1) : structure.frames
        try options.limits.check(width: structure.width, height: structure.height, frames: max(wanted, 1))
        if !structure.isComplete { throw .truncated(.gif) }

        let size = PixelSize(width: structure.width, height: structure.height)
        var frames = try FrameCollector(options, canvas: size, count: wanted, change: change)
        var reader = try GIFReader(bytes)
        var canvas = try Bitmap(width: structure.width, height: structure.height, format: .rgba)
        while frames.frames.count < wanted, let frame = try reader.next() {
            try options.limits.check(width: frame.width, height: frame.height)
            let before = frame.disposal == 3 ? canvas : nil
            try draw(frame, from: &reader, onto: &canvas, deadline)
            try frames.add(canvas, delay: delay(frame.delay))
            try deadline.check()
            if let before {
                canvas = before
            } else if frame.disposal == 2 {
                try canvas.clear(left: frame.left, top: frame.top, width: frame.width, height: frame.height)
            }
        }
        guard var image = Image(frames: frames.frames, loopCount: structure.loopCount, sourceFormat: .gif) else {
            throw .corrupt(.gif, reason: "no frame")
        }
        if structure.lacksTrailer { image.warnings = [.noEndMark(.gif)] }
        if !image.isAnimated { image = image.firstFrame }
        return image
    }

    /// Kingfisher's rule: what asks to be faster than a screen can show gets a tenth of a second.
    private static func delay(_ hundredths: Int) -> Duration {
        hundredths <= 1 ? .milliseconds(100) : .milliseconds(hundredths * 10)
    }

    private static func draw(
        _ frame: GIFReader.Frame, from reader: inout GIFReader, onto canvas: inout Bitmap, _ deadline: Deadline
    ) throws(ImagingError) {
        guard frame.width > 0, frame.height > 0 else { return }
        let step = min(frame.height, max(1, 65_536 / frame.width))
        let band = try Scratch.take(UInt8.self, frame.width * step)
        defer { Scratch.give(band) }
        // The file's order of rows: first row and distance of each pass.
        let passes = frame.isInterlaced ? [(0, 8), (4, 8), (2, 4), (1, 2)] : [(0, 1)]
        for (first, distance) in passes {
            var y = first
            while y < frame.height {
                let count = min(step, (frame.height - y + distance - 1) / distance)
                try reader.read(band, width: frame.width, count: count)
                try canvas.withUnsafeMutableRows { (rows) throws(ImagingError) in
                    for index in 0..<count {
                        paint(band + index * frame.width, frame, row: frame.top + y + index * distance, rows)
                    }
                }
                try deadline.check()
                y += count * distance
            }
        }
    }

    /// One row of indexes; what falls outside the canvas is clipped.
    private static func paint(
        _ indexes: UnsafePointer<UInt8>, _ frame: GIFReader.Frame, row: Int, _ canvas: MutableBitmapRows
    ) {
        guard row < canvas.height else { return }
        let visible = min(frame.width, canvas.width - frame.left)
        guard visible > 0 else { return }
        frame.palette.withUnsafeBufferPointer { palette in
            let target = (canvas.base + row * canvas.bytesPerRow).assumingMemoryBound(to: UInt32.self) + frame.left
            for x in 0..<visible {
                let color = palette[Int(indexes[x])]
                if color != 0 { target[x] = color }
            }
        }
    }
}
