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
                        ? mode.mix(behind, color) : mode.mix(.init(repeating: behind), .init(repeating: color)).x
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
        let (step, width, count) = (source.format.channelCount, source.width, channels.rawValue)
        return try source.mapRows(to: channels) { row, output in
            // Adjacent pixels are often equal.
            var last: (input: SIMD4<UInt8>, output: SIMD4<UInt8>)?
            for x in 0..<width {
                let (input, pixel) = (row + x * step, output + x * count)
                let sample = SIMD4(input[0], input[1], input[2], step == 4 ? input[3] : 255)
                if last?.input != sample { last = (sample, mixTogether(sample, alphas)) }
                guard let result = last?.output else { continue }
                for channel in 0..<count { pixel[channel] = result[channel] }
            }
        }
    }

    private func mixTogether(_ sample: SIMD4<UInt8>, _ alphas: [UInt8]) -> SIMD4<UInt8> {
        let color = SIMD3(Double(sample.x), Double(sample.y), Double(sample.z)) / 255
        let alpha = opacity * Double(sample.w) / 255
        let mixed = mode.mix(backdrop, color)
        var result = SIMD4(0, 0, 0, alphas[Int(sample.w)])
        for index in 0..<3 {
            result[index] = ChannelTables.sample(channel(color[index], alpha, backdrop[index], mixed: mixed[index]))
        }
        return result
    }
}
