extension Bitmap {
    /// Whether no pixel lets anything through; true where there is no alpha channel.
    public var isOpaque: Bool {
        guard format.hasAlpha else { return true }
        let channels = format.channelCount
        return withUnsafeRows { rows in
            for y in 0..<rows.height {
                switch format.depth {
                case .eight:
                    let row = rows.row(y)
                    for index in stride(from: channels - 1, to: rows.width * channels, by: channels)
                    where row[index] != 255 { return false }
                case .sixteen:
                    let row = rows.row16(y)
                    for index in stride(from: channels - 1, to: rows.width * channels, by: channels)
                    where row[index] != 65_535 { return false }
                }
            }
            return true
        }
    }

    /// The same picture with 8 bits a sample, rounded to the nearest.
    func reducedToEightBits() throws(ImagingError) -> Bitmap {
        guard format.depth == .sixteen else { return self }
        var result = try Bitmap(uninitialized: width, height, PixelFormat(format.channels))
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<source.height {
                    try pace.advance(source.width)
                    let input = source.row16(y)
                    let output = target.row(y)
                    for index in 0..<source.width * format.channelCount {
                        output[index] = UInt8(truncatingIfNeeded: (UInt32(input[index]) * 255 + 32_767) / 65_535)
                    }
                }
            }
        }
        return result
    }

    /// The same picture as opaque grey or RGB of 8 bits, with the colour behind what was transparent. A grey picture
    /// becomes RGB when the colour is not grey.
    func flattened(onto background: Color) throws(ImagingError) -> Bitmap {
        let source = try reducedToEightBits()
        guard source.format.hasAlpha else { return source }
        let grayBackground = background.red == background.green && background.green == background.blue
        let staysGray = source.format.isGray && (grayBackground || source.isOpaque)
        var result = try Bitmap(uninitialized: width, height, staysGray ? .gray : .rgb)
        let behind = [background.red, background.green, background.blue].map(UInt32.init)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try source.withUnsafeRows { (rows) throws(ImagingError) in
                try behind.withUnsafeBufferPointer { (behind) throws(ImagingError) in
                    try flatten(rows, into: target, behind)
                }
            }
        }
        return result
    }
}

private func flatten(
    _ rows: BitmapRows, into target: MutableBitmapRows, _ behind: UnsafeBufferPointer<UInt32>
) throws(ImagingError) {
    var pace = Pace()
    let step = rows.format.channelCount
    let channels = target.format.channelCount
    for y in 0..<rows.height {
        try pace.advance(rows.width)
        var input = rows.row(y)
        var output = target.row(y)
        for _ in 0..<rows.width {
            let alpha = UInt32(input[step - 1])
            for channel in 0..<channels {
                let mixed = UInt32(input[step == 2 ? 0 : channel]) * alpha + behind[channel] * (255 - alpha) + 128
                output[channel] = UInt8(truncatingIfNeeded: (mixed + mixed >> 8) >> 8)
            }
            input += step
            output += channels
        }
    }
}
