extension Bitmap {
    /// The same picture in RGB or RGBA of 8 bits.
    func inColor() throws(ImagingError) -> Bitmap {
        let source = try reducedToEightBits()
        guard source.format.isGray else { return source }
        var result = try Bitmap(uninitialized: width, height, source.format.hasAlpha ? .rgba : .rgb)
        let (step, channels) = (source.format.channelCount, result.format.channelCount)
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try source.withUnsafeRows { (rows) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<rows.height {
                    try pace.advance(rows.width)
                    var input = rows.row(y)
                    var output = target.row(y)
                    for _ in 0..<rows.width {
                        (output[0], output[1], output[2]) = (input[0], input[0], input[0])
                        if step == 2 { output[3] = input[1] }
                        input += step
                        output += channels
                    }
                }
            }
        }
        return result
    }

    /// The same picture in RGBA of 8 bits with every pixel either opaque or, all zero, transparent: put onto the
    /// background where there is one, else by whether it is at least half opaque.
    func opaqueOrClear(onto background: Color?) throws(ImagingError) -> Bitmap {
        var source = try inColor()
        if let background, background.alpha == 255 { source = try source.flattened(onto: background).inColor() }
        var result = try Bitmap(uninitialized: width, height, .rgba)
        let channels = source.format.channelCount
        try result.withUnsafeMutableRows { (target) throws(ImagingError) in
            try source.withUnsafeRows { (rows) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<rows.height {
                    try pace.advance(rows.width)
                    var input = rows.row(y)
                    let output = (target.base + y * target.bytesPerRow).assumingMemoryBound(to: UInt32.self)
                    for x in 0..<rows.width {
                        let color = UInt32(input[0]) | UInt32(input[1]) << 8 | UInt32(input[2]) << 16
                        output[x] = UInt32(littleEndian: channels == 4 && input[3] < 128 ? 0 : color | 0xFF00_0000)
                        input += channels
                    }
                }
            }
        }
        return result
    }
}
