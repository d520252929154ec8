/// Four colours from 0 to 1, a vector for each channel.
struct ColorBatch {
    typealias Lanes = SIMD4<Double>

    var red: Lanes
    var green: Lanes
    var blue: Lanes

    init(_ red: Lanes, _ green: Lanes, _ blue: Lanes) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }

    /// One colour four times.
    init(repeating color: SIMD3<Double>) {
        self.init(Lanes(repeating: color.x), Lanes(repeating: color.y), Lanes(repeating: color.z))
    }

    var luminosity: Lanes { 0.3 * red + 0.59 * green + 0.11 * blue }
    var saturation: Lanes { most - least }
    private var least: Lanes {
        let two = red.replacing(with: green, where: green .< red)
        return two.replacing(with: blue, where: blue .< two)
    }
    private var most: Lanes {
        let two = red.replacing(with: green, where: green .> red)
        return two.replacing(with: blue, where: blue .> two)
    }

    /// The colours shifted to a luminosity, and desaturated when they would leave the range.
    @inline(__always)
    func withLuminosity(_ target: Lanes) -> ColorBatch {
        let shift = target - luminosity
        let shifted = ColorBatch(red + shift, green + shift, blue + shift)
        let light = shifted.luminosity
        let (least, most) = (shifted.least, shifted.most)
        let (dark, bright) = (light / (light - least), (1 - light) / (most - light))
        func clipped(_ channel: Lanes) -> Lanes {
            let raised = channel.replacing(with: (channel - light) * dark + light, where: least .< 0)
            return raised.replacing(with: (raised - light) * bright + light, where: most .> 1)
        }
        return ColorBatch(clipped(shifted.red), clipped(shifted.green), clipped(shifted.blue))
    }

    /// The colours scaled to a saturation, with their smallest channel at 0.
    @inline(__always)
    func withSaturation(_ target: Lanes) -> ColorBatch {
        let (least, range) = (least, saturation)
        let factor = (target / range).replacing(with: 0, where: range .<= 0)
        return ColorBatch((red - least) * factor, (green - least) * factor, (blue - least) * factor)
    }
}

extension BlendMode {
    /// B(backdrop, source) of a mode that is not separable; the source for the others.
    @inline(__always)
    func mix(_ backdrop: ColorBatch, _ source: ColorBatch) -> ColorBatch {
        switch self {
        case .hue: source.withSaturation(backdrop.saturation).withLuminosity(backdrop.luminosity)
        case .saturation: backdrop.withSaturation(source.saturation).withLuminosity(backdrop.luminosity)
        case .color: source.withLuminosity(backdrop.luminosity)
        case .luminosity: backdrop.withLuminosity(source.luminosity)
        default: source
        }
    }
}
