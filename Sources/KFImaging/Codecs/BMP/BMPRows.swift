/// Converts the rows of a bitmap without run lengths to pixels. Any row can be read at any time.
struct BMPRows {
    /// Where the transparency of a pixel is.
    private enum Transparency {
        case none
        /// In the pixel itself.
        case alpha
        /// In a mask of one bit a pixel, which follows the rows; 1 is transparent.
        case mask(start: Int, bytesPerRow: Int)
    }

    private enum Layout {
        case indices
        /// One byte a sample: the offsets of red, green, blue and alpha inside a pixel.
        case samples(SIMD4<Int>)
        /// Samples of any width, cut out by masks.
        case masks([BMPSample])
    }

    let format: PixelFormat
    private let header: BMPHeader
    private let palette: BMPPalette
    private let layout: Layout
    private let transparency: Transparency

    /// Every row must be inside the bytes, which must stay in place for the lifetime of this value.
    init(_ header: BMPHeader) throws(ImagingError) {
        self.header = header
        palette = BMPPalette(header)
        let alpha = BMPRows.alphaMask(header)
        // Some writers leave every alpha 0. As in browsers, such a picture is opaque.
        if alpha != 0, try BMPRows.hasVisiblePixel(header, alpha) {
            transparency = .alpha
        } else {
            transparency = try BMPRows.mask(header)
        }
        if header.isIcon || header.masks[3] != 0 {
            format = .rgba
        } else {
            format = header.depth <= 8 && palette.isGray ? .gray : .rgb
        }
        layout = header.depth <= 8 ? .indices : BMPRows.layout(header, alpha)
    }

    /// Writes the pixels of a row; 0 is the top one.
    func read(_ index: Int, to target: UnsafeMutablePointer<UInt8>) {
        guard let base = header.bytes.baseAddress else { return }
        let stored = header.isTopDown ? index : header.size.height - 1 - index
        let source = base + header.data + stored * header.bytesPerRow
        switch layout {
        case .indices: readIndices(source, target)
        case .samples(let offsets): readSamples(source, target, offsets)
        case .masks(let samples): readMasks(source, target, samples)
        }
        guard format.hasAlpha else { return }
        switch transparency {
        case .none: for x in 0..<header.size.width { target[x * 4 + 3] = 255 }
        case .alpha: break
        case .mask(let start, let bytesPerRow):
            let mask = (base + start + stored * bytesPerRow).assumingMemoryBound(to: UInt8.self)
            for x in 0..<header.size.width {
                target[x * 4 + 3] = mask[x >> 3] << UInt8(clamping: x & 7) & 0x80 == 0 ? 255 : 0
            }
        }
    }

    private func readIndices(_ source: UnsafeRawPointer, _ target: UnsafeMutablePointer<UInt8>) {
        let indices = source.assumingMemoryBound(to: UInt8.self)
        let writer = BMPPixelWriter(format: format)
        let step = format.bytesPerPixel
        let depth = header.depth
        palette.colors.withUnsafeBufferPointer { colors in
            if depth == 8 {
                for x in 0..<header.size.width { writer.put(colors[Int(indices[x])], target + x * step) }
                return
            }
            // The leftmost pixel has the highest bits.
            let perByte = 8 / depth
            let mask = UInt8(clamping: 1 << depth - 1)
            for x in 0..<header.size.width {
                let shift = 8 - depth - x % perByte * depth
                writer.put(colors[Int(indices[x / perByte] >> UInt8(clamping: shift) & mask)], target + x * step)
            }
        }
    }

    private func readSamples(_ source: UnsafeRawPointer, _ target: UnsafeMutablePointer<UInt8>, _ offsets: SIMD4<Int>) {
        var input = source.assumingMemoryBound(to: UInt8.self)
        var output = target
        let (red, green, blue, alpha) = (offsets[0], offsets[1], offsets[2], offsets[3])
        let (inputStep, outputStep) = (header.depth / 8, format.bytesPerPixel)
        if outputStep == 3 {
            for _ in 0..<header.size.width {
                (output[0], output[1], output[2]) = (input[red], input[green], input[blue])
                input += inputStep
                output += 3
            }
        } else {
            for _ in 0..<header.size.width {
                (output[0], output[1], output[2], output[3]) = (input[red], input[green], input[blue], input[alpha])
                input += inputStep
                output += 4
            }
        }
    }

    private func readMasks(_ source: UnsafeRawPointer, _ target: UnsafeMutablePointer<UInt8>, _ samples: [BMPSample]) {
        var output = target
        let step = format.bytesPerPixel
        samples.withUnsafeBufferPointer { samples in
            for x in 0..<header.size.width {
                let pixel = BMPRows.pixel(source, x, header.depth)
                for channel in 0..<step { output[channel] = samples[channel].value(pixel) }
                output += step
            }
        }
    }

    @inline(__always)
    private static func pixel(_ row: UnsafeRawPointer, _ x: Int, _ depth: Int) -> UInt32 {
        switch depth {
        case 16:
            return UInt32(clamping: UInt16(littleEndian: row.loadUnaligned(fromByteOffset: x * 2, as: UInt16.self)))
        case 24:
            let bytes = row.assumingMemoryBound(to: UInt8.self) + x * 3
            return UInt32(bytes[0]) | UInt32(bytes[1]) << 8 | UInt32(bytes[2]) << 16
        default: return UInt32(littleEndian: row.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self))
        }
    }

    /// The bits of alpha in a pixel. In an ICO the fourth byte of a pixel is alpha without a mask that says so.
    private static func alphaMask(_ header: BMPHeader) -> UInt32 {
        let usual: UInt32 = header.isIcon && header.depth == 32 ? 0xFF00_0000 : 0
        let colors = header.masks[0] | header.masks[1] | header.masks[2]
        return header.masks[3] != 0 ? header.masks[3] : usual & ~colors
    }

    private static func hasVisiblePixel(_ header: BMPHeader, _ alpha: UInt32) throws(ImagingError) -> Bool {
        guard let base = header.bytes.baseAddress else { return false }
        var pace = Pace()
        for row in 0..<header.size.height {
            try pace.advance(header.size.width)
            let source = base + header.data + row * header.bytesPerRow
            for x in 0..<header.size.width where pixel(source, x, header.depth) & alpha != 0 { return true }
        }
        return false
    }

    /// The mask of a bitmap inside an ICO. A file that ends in front of it is accepted, as by browsers.
    private static func mask(_ header: BMPHeader) throws(ImagingError) -> Transparency {
        let start = header.data + header.bytesPerRow * header.size.height
        guard header.isIcon, start < header.bytes.count else { return .none }
        let bytesPerRow = (header.size.width + 31) / 32 * 4
        let end = start + bytesPerRow * (header.size.height - 1) + (header.size.width + 7) / 8
        // Some writers put the profile where the mask would be, and leave the mask out.
        if let profile = header.profile, profile.overlaps(start..<end) { return .none }
        guard end <= header.bytes.count else { throw .truncated(header.container) }
        return .mask(start: start, bytesPerRow: bytesPerRow)
    }

    private static func layout(_ header: BMPHeader, _ alpha: UInt32) -> Layout {
        var masks = header.masks
        masks[3] = alpha
        var offsets = SIMD4<Int>.zero
        var isBytes = header.depth > 16
        for channel in 0..<4 {
            let sample = BMPSample(masks[channel])
            // Without alpha any byte will do: it is overwritten.
            isBytes = isBytes && (sample.isByte || channel == 3 && alpha == 0)
            offsets[channel] = sample.isByte ? sample.shift / 8 : 0
        }
        return isBytes ? .samples(offsets) : .masks((0..<4).map { BMPSample(masks[$0]) })
    }
}

/// Cuts a sample out of a pixel and scales it to 8 bits, rounded to the nearest.
struct BMPSample {
    private let mask: UInt32
    let shift: Int
    /// The scaled values of a sample of at most 8 bits; empty for a wider one.
    private let table: [UInt8]
    private let maximum: UInt64

    init(_ mask: UInt32) {
        self.mask = mask
        shift = mask == 0 ? 0 : mask.trailingZeroBitCount
        let maximum = UInt64(mask >> UInt32(clamping: shift))
        self.maximum = maximum
        table = maximum < 256 ? (0...maximum).map { BMPSample.scaled($0, maximum) } : []
    }

    /// Whether the sample is one whole byte.
    var isByte: Bool { maximum == 255 && shift % 8 == 0 }

    @inline(__always)
    func value(_ pixel: UInt32) -> UInt8 {
        let value = UInt64((pixel & mask) >> UInt32(truncatingIfNeeded: shift))
        return maximum < 256 ? table[Int(value)] : BMPSample.scaled(value, maximum)
    }

    /// A missing sample is 0.
    private static func scaled(_ value: UInt64, _ maximum: UInt64) -> UInt8 {
        maximum == 0 ? 0 : UInt8(truncatingIfNeeded: (value * 510 + maximum) / (maximum * 2))
    }
}
