/// Shrinks the first frame of an image to at most 256 pixels a side, to be measured. The result knows the average colour
/// of all pixels, which no reduction keeps: it averages samples and not light.
///
/// The result is almost that of ``DownsamplingImageProcessor``, at a third of the time: boxes of pixels are averaged first,
/// as a JPEG's decoder does it.
package struct SketchImageProcessor: ImageProcessor {
    private static let side = 256
    private static let reduction = DownsamplingImageProcessor(width: Double(side), height: Double(side))

    package init() {}

    package var identifier: String { "sketch:\(Self.side)" }

    package func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        // The sides are pixels, whatever the scale of the other sizes.
        var decoding = ProcessingOptions(decode: options.decode)
        decoding.decode.firstFrameOnly = true
        if case .image(let image) = item, image.average != nil { return image }
        let frame = try item.image(decoding.decode).firstFrame
        return try Allowance.within(options.decode.limits, fileBytes: nil) { () throws(ImagingError) in
            var sketch = try reduced(frame, decoding)
            sketch.average = try AverageColor(frame.bitmap)
            return sketch
        }
    }

    private func reduced(_ frame: Image, _ options: ProcessingOptions) throws(ImagingError) -> Image {
        let box = max(frame.width, frame.height) / Self.side
        guard box > 1, frame.bitmap.format == .rgb || frame.bitmap.format == .gray else {
            return try Self.reduction.process(.image(frame), options: options)
        }
        let target = Self.reduction.targetSize(width: frame.width, height: frame.height)
        return try frame.mapBitmaps { (bitmap) throws(ImagingError) in
            let averages = try bitmap.averages(box)
            let resampler = try Resampler(
                source: averages.size,
                extent: (Double(bitmap.width) / Double(box), Double(bitmap.height) / Double(box)),
                format: averages.format, target: target, sharpening: JPEGScale.sharpening(2))
            try averages.withUnsafeRows { (rows) throws(ImagingError) in
                for y in 0..<rows.height { try resampler.push(rows.row(y)) }
            }
            return resampler.result
        }
    }
}

extension Bitmap {
    /// Returns the averages of boxes of `side` × `side` pixels with 8 bits a sample. Those at the right and lower edge may
    /// be smaller.
    fileprivate func averages(_ side: Int) throws(ImagingError) -> Bitmap {
        let channels = format.channelCount
        let (columns, lines) = ((width + side - 1) / side, (height + side - 1) / side)
        var result = try Bitmap(uninitialized: columns, lines, format)
        let sums = try Scratch.take(UInt32.self, width * channels)
        defer { Scratch.give(sums) }
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for line in 0..<lines {
                    sums.update(repeating: 0, count: width * channels)
                    let rows = line * side..<min(height, (line + 1) * side)
                    for y in rows {
                        try pace.advance(width)
                        let row = source.row(y)
                        for index in 0..<width * channels { sums[index] &+= UInt32(row[index]) }
                    }
                    let output = target.row(line)
                    for column in 0..<columns {
                        let box = column * side..<min(width, (column + 1) * side)
                        // 2^32 / count: a division of each sum would take longer than the sums.
                        let share = (1 << 32) / UInt64(truncatingIfNeeded: box.count * rows.count)
                        for channel in 0..<channels {
                            var (place, sum) = (box.lowerBound * channels + channel, UInt32(0))
                            for _ in box {
                                sum &+= sums[place]
                                place += channels
                            }
                            output[column * channels + channel] = UInt8(
                                truncatingIfNeeded: (UInt64(sum) &* share &+ 1 << 31) >> 32)
                        }
                    }
                }
            }
        }
        return result
    }
}
