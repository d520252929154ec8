extension Bitmap {
    /// Whether every pixel is opaque; true when there is no alpha channel.
    public var isOpaque: Bool {
        guard format.hasAlpha else { return true }
        return format.depth == .eight ? isOpaque(UInt8.self) : isOpaque(UInt16.self)
    }

    private func isOpaque<Sample: FixedWidthInteger>(_ sample: Sample.Type) -> Bool {
        let channels = format.channelCount
        return withUnsafeRows { rows in
            (0..<rows.height).allSatisfy { y in
                let row = (rows.base + y * rows.bytesPerRow).assumingMemoryBound(to: Sample.self)
                for index in stride(from: channels - 1, to: rows.width * channels, by: channels)
                where row[index] != Sample.max { return false }
                return true
            }
        }
    }

    /// Returns the picture with 8 bits a sample, rounded to the nearest value.
    func reducedToEightBits() throws(ImagingError) -> Bitmap {
        guard format.depth == .sixteen else { return self }
        let samples = width * format.channelCount
        return try convertRows(to: PixelFormat(format.channels)) { (input: UnsafePointer<UInt16>, output) in
            for index in 0..<samples {
                output[index] = UInt8(truncatingIfNeeded: (UInt32(input[index]) * 255 + 32_767) / 65_535)
            }
        }
    }

    /// Returns the picture with 16 bits a sample.
    private func widenedToSixteenBits() throws(ImagingError) -> Bitmap {
        guard format.depth == .eight else { return self }
        let samples = width * format.channelCount
        return try convertRows(to: PixelFormat(format.channels, .sixteen)) { (input: UnsafePointer<UInt8>, output) in
            for index in 0..<samples { output[index] = UInt16(input[index]) * 257 }
        }
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
        let staysGray = source.format.isGray && (background.isGray || source.isOpaque)
        let behind = (
            UInt32(clamping: background.red), UInt32(clamping: background.green), UInt32(clamping: background.blue)
        )
        let (step, channels, count) = (source.format.channelCount, staysGray ? 1 : 3, width)
        return try source.mapRows(to: staysGray ? .gray : .rgb) { row, target in
            var (input, output) = (row, target)
            for _ in 0..<count {
                let alpha = UInt32(input[step - 1])
                func mix(_ channel: Int, _ behind: UInt32) {
                    let mixed = UInt32(input[step == 2 ? 0 : channel]) * alpha + behind * (255 - alpha) + 128
                    output[channel] = UInt8(truncatingIfNeeded: (mixed + mixed >> 8) >> 8)
                }
                mix(0, behind.0)
                if channels == 3 {
                    mix(1, behind.1)
                    mix(2, behind.2)
                }
                input += step
                output += channels
            }
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
        let target = PixelFormat(channels, format.depth)
        return try format.depth == .eight ? expanded(to: target, UInt8.self) : expanded(to: target, UInt16.self)
    }

    private func expanded<Sample: FixedWidthInteger & UnsignedInteger>(
        to target: PixelFormat, _ sample: Sample.Type
    ) throws(ImagingError) -> Bitmap {
        let (source, count) = (format, width)
        let (step, channels, colors) = (source.channelCount, target.channelCount, target.isGray ? 1 : 3)
        return try convertRows(to: target) { (row: UnsafePointer<Sample>, output: UnsafeMutablePointer<Sample>) in
            for x in 0..<count {
                let (input, pixel) = (row + x * step, output + x * channels)
                for channel in 0..<colors { pixel[channel] = input[source.isGray ? 0 : channel] }
                if target.hasAlpha { pixel[colors] = source.hasAlpha ? input[step - 1] : Sample.max }
            }
        }
    }
}

extension Bitmap {
    /// Returns the picture as RGB or RGBA with 8 bits a sample.
    func inColor() throws(ImagingError) -> Bitmap {
        try reducedToEightBits().expanded(color: true, alpha: false)
    }

    /// Returns the picture in RGBA with 8 bits a sample; every pixel is opaque, or transparent with four zero samples.
    ///
    /// With an opaque background all pixels are opaque. Otherwise those less than half opaque become transparent.
    func opaqueOrClear(onto background: Color?) throws(ImagingError) -> Bitmap {
        var source = try inColor()
        if let background, background.alpha == 255 { source = try source.flattened(onto: background).inColor() }
        let (channels, count) = (source.format.channelCount, width)
        return try source.convertRows(to: .rgba) { (row: UnsafePointer<UInt8>, output) in
            var input = row
            for x in 0..<count {
                let color = UInt32(input[0]) | UInt32(input[1]) << 8 | UInt32(input[2]) << 16
                output[x] = UInt32(littleEndian: channels == 4 && input[3] < 128 ? 0 : color | 0xFF00_0000)
                input += channels
            }
        }
    }
}
