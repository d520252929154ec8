import Glibc

/// What compositing an animation needs; the bitmap is RGBA of 8 bits.
extension Bitmap {
    /// Makes a rectangle transparent; what lies outside the bitmap is left alone.
    mutating func clear(left: Int, top: Int, width: Int, height: Int) throws(ImagingError) {
        try withUnsafeMutableRows { (rows) throws(ImagingError) in
            let right = min(left + width, rows.width)
            guard right > left else { return }
            var pace = Pace()
            for y in top..<max(top, min(top + height, rows.height)) {
                try pace.advance(right - left)
                memset(rows.row(y) + left * 4, 0, (right - left) * 4)
            }
        }
    }

    /// Lays a picture, which must fit, over the bitmap or puts it in its place.
    mutating func draw(_ picture: Bitmap, left: Int, top: Int, blending: Bool) throws(ImagingError) {
        try withUnsafeMutableRows { (target) throws(ImagingError) in
            try picture.withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<source.height {
                    try pace.advance(source.width)
                    let output = target.row(top + y) + left * 4
                    if blending {
                        blendRow(source.row(y), over: output, source.width)
                    } else {
                        memcpy(output, source.row(y), source.width * 4)
                    }
                }
            }
        }
    }
}

/// libwebp's own integer arithmetic for straight alpha, so that animations look as they do everywhere else.
private func blendRow(_ source: UnsafePointer<UInt8>, over target: UnsafeMutablePointer<UInt8>, _ count: Int) {
    for offset in stride(from: 0, to: count * 4, by: 4) {
        let above = source + offset
        let below = target + offset
        let alpha = UInt32(above[3])
        if alpha == 0 { continue }
        if alpha == 255 || below[3] == 0 {
            for channel in 0..<4 { below[channel] = above[channel] }
            continue
        }
        // Swift's shifts bind tighter than its products.
        let share = (UInt32(below[3]) * (256 - alpha)) >> 8
        let sum = alpha + share
        let scale = (1 << 24) / sum
        for channel in 0..<3 {
            let mixed = UInt32(above[channel]) * alpha + UInt32(below[channel]) * share
            below[channel] = UInt8(truncatingIfNeeded: (mixed * scale) >> 24)
        }
        below[3] = UInt8(truncatingIfNeeded: sum)
    }
}
