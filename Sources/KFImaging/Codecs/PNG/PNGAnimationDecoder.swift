import CImageCodecs

/// Decodes the frames of an animated PNG and composites them, with 8 bits a sample.
struct PNGAnimationDecoder {
    let bytes: UnsafeRawBufferPointer
    let structure: PNGStructure
    let animation: PNGAnimation

    func decode(_ options: DecodeOptions, each change: FrameChange?) throws(ImagingError) -> Image {
        let wanted = options.firstFrameOnly ? 1 : animation.frames
        try options.limits.check(structure.size, frames: wanted)
        let color = try Color(bytes, structure)
        var frames = try FrameCollector(
            options, canvas: structure.size, count: wanted, orientation: structure.orientation, profile: color.profile,
            change: change)
        try composite(wanted, color) { (canvas, delay) throws(ImagingError) in try frames.add(canvas, delay: delay) }
        return try frames.image(
            .png, loopCount: animation.loopCount, metadata: structure.metadata, warnings: structure.warningsOfDecoding)
    }

    /// Decodes every frame and keeps none.
    func check(_ limits: DecodeLimits) throws(ImagingError) {
        try limits.check(structure.size, frames: animation.frames)
        try composite(animation.frames, Color(bytes, structure)) { _, _ in }
    }

    private func composite(
        _ wanted: Int, _ color: Color, each take: (Bitmap, Duration) throws(ImagingError) -> Void
    ) throws(ImagingError) {
        var canvas = try Bitmap(width: structure.size.width, height: structure.size.height, format: .rgba)
        var frames = PNGFrames(animation, in: bytes)
        for index in 0..<wanted {
            guard let (frame, chunks) = frames.next() else { return }
            let picture = try color.converted(picture(frame, chunks, index))
            let before = frame.disposal == .previous ? canvas : nil
            try canvas.draw(picture, left: frame.left, top: frame.top, frame.blends ? .blending : .replacing)
            try take(canvas, frame.delay)
            if let before {
                canvas = before
            } else if frame.disposal == .background {
                try canvas.clear(
                    left: frame.left, top: frame.top, width: frame.size.width, height: frame.size.height)
            }
            try ImageCodecs.checkTime()
        }
    }

    private func picture(_ frame: PNGFrame, _ chunks: Range<Int>, _ index: Int) throws(ImagingError) -> Bitmap {
        var source = kf_png_frame()
        (source.width, source.height) = (UInt32(clamping: frame.size.width), UInt32(clamping: frame.size.height))
        source.has_own_data = index == 0 && animation.startsWithDefaultImage ? 0 : 1
        (source.start, source.end) = (chunks.lowerBound, chunks.upperBound)
        (source.palette, source.transparency) = (structure.palette, structure.transparency)
        var reader = try PNGReader(bytes, frame: &source)
        return try reader.readAll()
    }

    /// The colour space of the frames, which are RGBA whatever the file holds.
    private struct Color {
        /// The profile of the frames; nil is sRGB.
        let profile: [UInt8]?
        /// The values that replace those of grey samples, because a grey profile cannot describe RGBA.
        private let grays: [UInt8]?

        init(_ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure) throws(ImagingError) {
            let isGray = structure.isGray
            let stated = structure.statedProfile(of: bytes, isGray ? .gray : .rgb)
            let describesColor = ICCProfile.fitting(stated, .rgb) != nil
            profile = describesColor ? stated : nil
            grays = try isGray && !describesColor ? stated.map(Color.grays) : nil
        }

        private static func grays(_ profile: [UInt8]) throws(ImagingError) -> [UInt8] {
            var ramp = try Bitmap(width: 256, height: 1, format: .gray)
            try ramp.withUnsafeMutableRows { (rows) in
                for value in 0..<256 { rows.row(0)[value] = UInt8(clamping: value) }
            }
            let converted = try Image(ramp, iccProfile: profile).convertedToSRGB().bitmap
            return converted.withUnsafeRows { rows in (0..<256).map { rows.row(0)[$0] } }
        }

        func converted(_ picture: Bitmap) throws(ImagingError) -> Bitmap {
            guard let grays else { return picture }
            return try picture.mapRows(to: .rgba) { row, output in
                for start in stride(from: 0, to: picture.width * 4, by: 4) {
                    let gray = grays[Int(row[start])]
                    (output[start], output[start + 1], output[start + 2]) = (gray, gray, gray)
                    output[start + 3] = row[start + 3]
                }
            }
        }
    }
}
