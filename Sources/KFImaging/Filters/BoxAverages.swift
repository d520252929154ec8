extension Bitmap {
    /// Returns the averages of boxes of `side` × `side` pixels of grey or RGB with 8 bits a sample. Those at the right
    /// and lower edge may be smaller.
    func averages(_ side: Int) throws(ImagingError) -> Bitmap {
        if side == 1 { return self }
        let (width, channels) = (width, format.channelCount)
        let (columns, lines) = ((width + side - 1) / side, (height + side - 1) / side)
        var result = try Bitmap(uninitialized: columns, lines, format)
        let sums = try Scratch.take(UInt32.self, width * channels)
        defer { Scratch.give(sums) }
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for line in 0..<lines {
                    let rows = line * side..<min(source.height, (line + 1) * side)
                    for y in rows {
                        try pace.advance(width)
                        Self.add(source.row(y), to: sums, width * channels, isFirst: y == rows.lowerBound)
                    }
                    let output = target.row(line)
                    let whole = width / side
                    Self.average(sums, side, rows.count, channels, whole, output)
                    if whole < columns {
                        let rest = width - whole * side
                        Self.average(
                            sums + whole * side * channels, rest, rows.count, channels, 1, output + whole * channels)
                    }
                }
            }
        }
        return result
    }

    private static func add(
        _ row: UnsafePointer<UInt8>, to sums: UnsafeMutablePointer<UInt32>, _ count: Int, isFirst: Bool
    ) {
        if isFirst {
            for index in 0..<count { sums[index] = UInt32(row[index]) }
        } else {
            for index in 0..<count { sums[index] &+= UInt32(row[index]) }
        }
    }

    /// Writes the averages of boxes that are `side` pixels wide, of the sums of `lines` rows.
    private static func average(
        _ sums: UnsafePointer<UInt32>, _ side: Int, _ lines: Int, _ channels: Int, _ boxes: Int,
        _ output: UnsafeMutablePointer<UInt8>
    ) {
        // 2^32 / count: a division of each sum would take longer than the sums.
        let share = (1 << 32) / UInt64(truncatingIfNeeded: side * lines)
        for box in 0..<boxes {
            for channel in 0..<channels {
                var (place, sum) = (box * side * channels + channel, UInt32(0))
                for _ in 0..<side {
                    sum &+= sums[place]
                    place &+= channels
                }
                output[box &* channels &+ channel] = UInt8(
                    truncatingIfNeeded: (UInt64(sum) &* share &+ 1 << 31) >> 32)
            }
        }
    }
}

extension Image {
    /// Returns the first frame reduced to at most `side` pixels a side, to be looked at as a whole.
    ///
    /// The result is almost that of ``DownsamplingImageProcessor``, at a third of the time: boxes of pixels are averaged
    /// first, as a JPEG's decoder does it.
    package func sketched(_ side: Int) throws(ImagingError) -> Image {
        let frame = firstFrame
        let reduction = DownsamplingImageProcessor(width: Double(side), height: Double(side))
        let box = max(frame.width, frame.height) / side
        guard box > 1, frame.bitmap.format == .rgb || frame.bitmap.format == .gray else {
            return try reduction.process(.image(frame), options: .init())
        }
        let target = reduction.targetSize(width: frame.width, height: frame.height)
        return try frame.mapBitmaps { (bitmap) throws(ImagingError) in
            let averages = try bitmap.averages(box)
            return try Resampler.resize(
                averages, extent: (Double(bitmap.width) / Double(box), Double(bitmap.height) / Double(box)), to: target,
                sharpening: JPEGScale.sharpening(2))
        }
    }
}
