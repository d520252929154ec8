import CImageCodecs

/// Decodes the frames of an animated PNG and composites them, with 8 bits a sample.
enum PNGAnimationDecoder {
    static func decode(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure, _ animation: PNGAnimation,
        _ options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        let wanted = options.firstFrameOnly ? 1 : animation.frames
        let canvas = PixelSize(width: structure.width, height: structure.height)
        try options.limits.check(width: canvas.width, height: canvas.height, frames: wanted)
        let deadline = Allowance.deadline(options.limits)
        let color = try Color(bytes, structure)
        var frames = try FrameCollector(
            options, canvas: canvas, count: wanted, orientation: structure.orientation, profile: color.profile,
            change: change)
        try composite(bytes, structure, animation, wanted, color, deadline) { (canvas, delay) throws(ImagingError) in
            try frames.add(canvas, delay: delay)
        }
        return try frames.image(
            .png, loopCount: animation.loopCount, metadata: structure.metadata, warnings: structure.warningsOfDecoding)
    }

    /// Decodes every frame and keeps none.
    static func check(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure, _ animation: PNGAnimation, _ limits: DecodeLimits
    ) throws(ImagingError) {
        try limits.check(width: structure.width, height: structure.height, frames: animation.frames)
        let (deadline, color) = (Allowance.deadline(limits), try Color(bytes, structure))
        try composite(bytes, structure, animation, animation.frames, color, deadline) { _, _ in }
    }

    private static func composite(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure, _ animation: PNGAnimation, _ wanted: Int,
        _ color: Color, _ deadline: Deadline, each take: (Bitmap, Duration) throws(ImagingError) -> Void
    ) throws(ImagingError) {
        let library = try MemoryReservation(structure.libraryBytes)
        defer { withExtendedLifetime(library) {} }
        var canvas = try Bitmap(width: structure.width, height: structure.height, format: .rgba)
        var frames = PNGFrames(animation, in: bytes)
        for index in 0..<wanted {
            guard let (frame, chunks) = frames.next() else { return }
            var picture = try picture(frame, chunks, index, bytes, structure, animation, deadline)
            try color.convert(&picture)
            let before = frame.disposal == .previous ? canvas : nil
            try canvas.draw(picture, left: frame.left, top: frame.top, frame.blends ? .blending : .replacing)
            try take(canvas, frame.delay)
            if let before {
                canvas = before
            } else if frame.disposal == .background {
                try canvas.clear(
                    left: frame.left, top: frame.top, width: frame.size.width, height: frame.size.height)
            }
            try deadline.check()
        }
    }

    private static func picture(
        _ frame: PNGFrame, _ chunks: Range<Int>, _ index: Int, _ bytes: UnsafeRawBufferPointer,
        _ structure: PNGStructure, _ animation: PNGAnimation, _ deadline: Deadline
    ) throws(ImagingError) -> Bitmap {
        var source = kf_png_frame()
        (source.width, source.height) = (UInt32(frame.size.width), UInt32(frame.size.height))
        source.has_own_data = index == 0 && animation.startsWithDefaultImage ? 0 : 1
        (source.start, source.end) = (chunks.lowerBound, chunks.upperBound)
        (source.palette, source.transparency) = (structure.palette, structure.transparency)
        var reader = try PNGReader(bytes, frame: source)
        return try reader.readAll(deadline)
    }

    /// The colour space of the frames, which are RGBA whatever the file holds.
    private struct Color {
        /// The profile of the frames; nil is sRGB.
        let profile: [UInt8]?
        /// The values that replace those of grey samples, because a grey profile cannot describe RGBA.
        private let grays: [UInt8]?

        init(_ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure) throws(ImagingError) {
            let header = try PNGReader(bytes)
            let isGray = header.format.isGray
            let stated = structure.colorSpace.profile(
                embedded: ICCProfile.fitting(header.iccProfile, isGray ? .gray : .rgb), isGray: isGray)
            profile = isGray ? nil : stated
            grays = try isGray ? stated.map(Color.grays) : nil
        }

        private static func grays(_ profile: [UInt8]) throws(ImagingError) -> [UInt8] {
            var ramp = try Bitmap(width: 256, height: 1, format: .gray)
            try ramp.withUnsafeMutableRows { (rows) in for value in 0..<256 { rows.row(0)[value] = UInt8(value) } }
            let converted = try Image(ramp, iccProfile: profile).convertedToSRGB().bitmap
            return converted.withUnsafeRows { rows in (0..<256).map { rows.row(0)[$0] } }
        }

        func convert(_ picture: inout Bitmap) throws(ImagingError) {
            guard let grays else { return }
            try picture.withUnsafeMutableRows { (rows) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<rows.height {
                    try pace.advance(rows.width)
                    let row = rows.row(y)
                    for start in stride(from: 0, to: rows.width * 4, by: 4) {
                        let gray = grays[Int(row[start])]
                        (row[start], row[start + 1], row[start + 2]) = (gray, gray, gray)
                    }
                }
            }
        }
    }
}
