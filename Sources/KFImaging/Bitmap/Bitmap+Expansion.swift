extension Bitmap {
    /// The same picture, depth kept, with grey spread to three colours or an opaque alpha channel added where the
    /// channels ask for it; what it has already is never taken away.
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
