extension Bitmap {
    /// Whether every pixel is opaque; true when there is no alpha channel.
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

    /// Returns the picture with 8 bits a sample, rounded to the nearest value.
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

    /// Returns the picture with 16 bits a sample.
    private func widenedToSixteenBits() throws(ImagingError) -> Bitmap {
        guard format.depth == .eight else { return self }
        var result = try Bitmap(uninitialized: width, height, PixelFormat(format.channels, .sixteen))
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<source.height {
                    try pace.advance(source.width)
                    let (input, output) = (source.row(y), target.row16(y))
                    for index in 0..<source.width * format.channelCount { output[index] = UInt16(input[index]) * 257 }
                }
            }
        }
        return result
    }

    /// Returns the picture with the depth of `format`, and at least its channels: colour and alpha are added where they
    /// are missing, and never dropped.
    public func expanded(to format: PixelFormat) throws(ImagingError) -> Bitmap {
        let deep = try format.depth == .eight ? reducedToEightBits() : widenedToSixteenBits()
        return try deep.expanded(color: !format.isGray, alpha: format.hasAlpha)
    }

    /// Returns the picture over an opaque background, as grey or RGB with 8 bits a sample.
    ///
    /// A grey picture becomes RGB when the background is not grey.
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

extension Bitmap {
    /// Returns the picture as RGB when `color` is true, and with an opaque alpha channel when `alpha` is true.
    ///
    /// Channels that it has already stay, and so does the depth.
    func expanded(color: Bool, alpha: Bool) throws(ImagingError) -> Bitmap {
        let channels: PixelFormat.Channels =
            color || !format.isGray
            ? (alpha || format.hasAlpha ? .rgba : .rgb) : (alpha || format.hasAlpha ? .grayAlpha : .gray)
        if channels == format.channels { return self }
        var result = try Bitmap(uninitialized: width, height, PixelFormat(channels, format.depth))
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<source.height {
                    try pace.advance(width)
                    switch format.depth {
                    case .eight: expand(source.row(y), format, to: target.row(y), target.format, width)
                    case .sixteen: expand(source.row16(y), format, to: target.row16(y), target.format, width)
                    }
                }
            }
        }
        return result
    }
}

@inline(__always)
private func expand<Sample: FixedWidthInteger & UnsignedInteger>(
    _ row: UnsafePointer<Sample>, _ source: PixelFormat, to output: UnsafeMutablePointer<Sample>,
    _ target: PixelFormat, _ count: Int
) {
    let (step, channels) = (source.channelCount, target.channelCount)
    let colors = target.isGray ? 1 : 3
    for x in 0..<count {
        let (input, pixel) = (row + x * step, output + x * channels)
        for channel in 0..<colors { pixel[channel] = input[source.isGray ? 0 : channel] }
        if target.hasAlpha { pixel[colors] = source.hasAlpha ? input[step - 1] : Sample.max }
    }
}

extension Bitmap {
    /// Returns the picture as RGB or RGBA with 8 bits a sample.
    func inColor() throws(ImagingError) -> Bitmap {
        let source = try reducedToEightBits()
        guard source.format.isGray else { return source }
        let format: PixelFormat = source.format.hasAlpha ? .rgba : .rgb
        let (step, channels, count) = (source.format.channelCount, format.channelCount, width)
        return try source.mapRows(to: format) { input, output in
            var (input, output) = (input, output)
            for _ in 0..<count {
                (output[0], output[1], output[2]) = (input[0], input[0], input[0])
                if step == 2 { output[3] = input[1] }
                input += step
                output += channels
            }
        }
    }

    /// Returns the picture in RGBA with 8 bits a sample; every pixel is opaque, or transparent with four zero samples.
    ///
    /// With an opaque background all pixels are opaque. Otherwise those less than half opaque become transparent.
    func opaqueOrClear(onto background: Color?) throws(ImagingError) -> Bitmap {
        var source = try inColor()
        if let background, background.alpha == 255 { source = try source.flattened(onto: background).inColor() }
        let (channels, count) = (source.format.channelCount, width)
        return try source.mapRows(to: .rgba) { input, output in
            var input = input
            let output = UnsafeMutableRawPointer(output).assumingMemoryBound(to: UInt32.self)
            for x in 0..<count {
                let color = UInt32(input[0]) | UInt32(input[1]) << 8 | UInt32(input[2]) << 16
                output[x] = UInt32(littleEndian: channels == 4 && input[3] < 128 ? 0 : color | 0xFF00_0000)
                input += channels
            }
        }
    }

    /// Makes a picture of the same size in another format, row by row. `body` writes one row.
    @inline(__always)
    private func mapRows(
        to format: PixelFormat, _ body: (UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>) -> Void
    ) throws(ImagingError) -> Bitmap {
        var result = try Bitmap(uninitialized: width, height, format)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try withUnsafeRows { (rows) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<rows.height {
                    try pace.advance(rows.width)
                    body(rows.row(y), target.row(y))
                }
            }
        }
        return result
    }
}
