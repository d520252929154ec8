/// Blends pictures onto a background colour by the W3C's compositing formulas.
struct Compositor {
    private let mode: BlendMode
    private let opacity: Double
    private let background: Color
    private let backdrop: SIMD3<Double>
    private let backdropAlpha: Double
    /// The results of separable modes: a table for each channel, indexed by alpha × 256 + value.
    ///
    /// For a picture without alpha a table has only the 256 entries of opaque pixels.
    private var samples: [[UInt8]] = []

    init(mode: BlendMode, opacity: Double, background: Color) {
        self.mode = mode
        self.opacity = opacity
        self.background = background
        let units = background.units
        backdrop = SIMD3(units[0], units[1], units[2])
        backdropAlpha = units[3]
    }

    /// Blends a picture. A grey one stays grey when the background is grey or transparent.
    ///
    /// The result has no alpha channel when it is opaque whatever the pixels.
    mutating func blend(_ bitmap: Bitmap) throws(ImagingError) -> Bitmap {
        let grayBackground = background.isGray || background.alpha == 0
        let source = try bitmap.reducedToEightBits().expanded(color: !grayBackground, alpha: false)
        let hasAlpha = source.format.hasAlpha
        let isOpaque = (hasAlpha ? [0, opacity] : [opacity]).allSatisfy { alpha(of: $0) == 1 }
        let channels: PixelFormat.Channels =
            source.format.isGray ? (isOpaque ? .gray : .grayAlpha) : (isOpaque ? .rgb : .rgba)
        let alphas = (0...255).map { ChannelTables.sample(alpha(of: opacity * Double($0) / 255)) }
        // The channels of a grey pixel are equal, so that one table serves the modes that are not separable too.
        if mode.isSeparable || source.format.isGray {
            makeTables(colors: source.format.isGray ? 1 : 3, withAlpha: hasAlpha)
            return try lookUp(source, alphas, to: channels)
        }
        return try mixTogether(source, alphas, to: channels)
    }

    private func alpha(of source: Double) -> Double {
        switch mode {
        case .plusLighter: return min(1, source + backdropAlpha)
        case .plusDarker: return max(0, source + backdropAlpha - 1)
        default:
            let shares = mode.shares(source: source, backdrop: backdropAlpha) ?? (1, 1 - source)
            return source * shares.source + backdropAlpha * shares.backdrop
        }
    }

    /// One channel of the result, with straight alpha. `mixed` is B(backdrop, source).
    private func channel(_ color: Double, _ alpha: Double, _ behind: Double, mixed: Double) -> Double {
        let whole = self.alpha(of: alpha)
        guard whole > 0 else { return 0 }
        let (source, backdrop) = (color * alpha, behind * backdropAlpha)
        switch mode {
        case .plusLighter: return min(1, source + backdrop) / whole
        case .plusDarker: return max(0, source + backdrop - 1) / whole
        default:
            if let shares = mode.shares(source: alpha, backdrop: backdropAlpha) {
                return (source * shares.source + backdrop * shares.backdrop) / whole
            }
            let blended = (1 - backdropAlpha) * color + backdropAlpha * mixed
            return (alpha * blended + (1 - alpha) * backdrop) / whole
        }
    }

    private mutating func makeTables(colors: Int, withAlpha: Bool) {
        let count = withAlpha ? 256 * 256 : 256
        guard samples.count != colors || samples[0].count != count else { return }
        samples = (0..<colors).map { index in
            let behind = backdrop[index]
            return [UInt8](unsafeUninitializedCapacity: count) { table, used in
                for place in 0..<count {
                    let alpha = opacity * (withAlpha ? Double(place >> 8) / 255 : 1)
                    let color = Double(place & 255) / 255
                    let mixed =
                        mode.isSeparable
                        ? mode.mix(behind, color)
                        : mode.mix(
                            ColorBatch(repeating: .init(repeating: behind)),
                            ColorBatch(repeating: .init(repeating: color))
                        ).red[0]
                    table[place] = ChannelTables.sample(channel(color, alpha, behind, mixed: mixed))
                }
                used = count
            }
        }
    }

    private func lookUp(
        _ source: Bitmap, _ alphas: [UInt8], to channels: PixelFormat.Channels
    ) throws(ImagingError) -> Bitmap {
        let (step, width) = (source.format.channelCount, source.width)
        let (hasAlpha, colors, count) = (source.format.hasAlpha, samples.count, channels.rawValue)
        let tables = samples.flatMap { $0 }
        let size = tables.count / colors
        return try source.mapRows(to: channels) { row, output in
            tables.withUnsafeBufferPointer { tables in
                for x in 0..<width {
                    let (input, pixel) = (row + x * step, output + x * count)
                    let alpha = hasAlpha ? Int(input[step - 1]) : 255
                    var place = hasAlpha ? alpha << 8 : 0
                    for index in 0..<colors {
                        pixel[index] = tables[place + Int(input[index])]
                        place += size
                    }
                    if count > colors { pixel[colors] = alphas[alpha] }
                }
            }
        }
    }

    private func mixTogether(
        _ source: Bitmap, _ alphas: [UInt8], to channels: PixelFormat.Channels
    ) throws(ImagingError) -> Bitmap {
        try source.mapRows(to: channels) { row, output in
            // A loop for each mode: the choice is not made for each pixel.
            switch mode {
            case .hue: mixRow(row, source, output, channels, alphas) { BlendMode.hue.mix($0, $1) }
            case .saturation: mixRow(row, source, output, channels, alphas) { BlendMode.saturation.mix($0, $1) }
            case .color: mixRow(row, source, output, channels, alphas) { BlendMode.color.mix($0, $1) }
            default: mixRow(row, source, output, channels, alphas) { BlendMode.luminosity.mix($0, $1) }
            }
        }
    }

    /// The pixels that are blended between a load and a store.
    private static let stretch = 64

    /// Blends a row of RGB or RGBA, four pixels at a time.
    @inline(__always)
    private func mixRow(
        _ row: UnsafePointer<UInt8>, _ source: Bitmap, _ output: UnsafeMutablePointer<UInt8>,
        _ channels: PixelFormat.Channels, _ alphas: [UInt8], _ mix: (ColorBatch, ColorBatch) -> ColorBatch
    ) {
        typealias Lanes = ColorBatch.Lanes
        let (step, count, width) = (source.format.channelCount, channels.rawValue, source.width)
        let behind = ColorBatch(repeating: backdrop)
        let (stretch, share) = (Compositor.stretch, 1 - backdropAlpha)
        let batches = stretch / Lanes.scalarCount
        // Red, green, blue and alpha, each in a plane of its own.
        withUnsafeTemporaryAllocation(of: Lanes.self, capacity: 4 * batches) { planes in
            guard let planes = planes.baseAddress else { return }
            planes.initialize(repeating: .init(repeating: 0), count: 4 * batches)
            let samples = UnsafeMutableRawPointer(planes).assumingMemoryBound(to: Double.self)
            for start in stride(from: 0, to: width, by: stretch) {
                let length = min(stretch, width - start)
                let (input, result) = (row + start * step, output + start * count)
                for channel in 0..<3 {
                    let plane = samples + channel * stretch
                    for x in 0..<length { plane[x] = Double(input[x * step + channel]) / 255 }
                }
                let alpha = samples + 3 * stretch
                for x in 0..<length { alpha[x] = opacity * Double(step == 4 ? input[x * 4 + 3] : 255) / 255 }
                for batch in 0..<(length + Lanes.scalarCount - 1) / Lanes.scalarCount {
                    let (red, green, blue) = (planes + batch, planes + batch + batches, planes + batch + 2 * batches)
                    let alpha = planes[batch + 3 * batches]
                    let rest = 1 - alpha
                    let whole = alpha + backdropAlpha * rest
                    let mixed = mix(behind, ColorBatch(red.pointee, green.pointee, blue.pointee))
                    func blend(_ color: UnsafeMutablePointer<Lanes>, _ mixed: Lanes, _ behind: Double) {
                        let blended = share * color.pointee + backdropAlpha * mixed
                        let sum = (alpha * blended + rest * (behind * backdropAlpha)) / whole
                        color.pointee = sum.replacing(with: 0, where: whole .<= 0) * 255 + 0.5
                    }
                    blend(red, mixed.red, backdrop.x)
                    blend(green, mixed.green, backdrop.y)
                    blend(blue, mixed.blue, backdrop.z)
                }
                for channel in 0..<3 {
                    let plane = samples + channel * stretch
                    for x in 0..<length {
                        result[x * count + channel] = UInt8(
                            truncatingIfNeeded: Int32(max(0.5, min(plane[x], 255.5))))
                    }
                }
                if count == 4 {
                    for x in 0..<length { result[x * 4 + 3] = alphas[step == 4 ? Int(input[x * 4 + 3]) : 255] }
                }
            }
        }
    }
}
