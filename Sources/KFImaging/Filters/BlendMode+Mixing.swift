/// W3C's blend functions, of colours from 0 to 1 that are not premultiplied.
extension BlendMode {
    /// B(backdrop, source) of a separable mode; the source itself for the modes that mix no colours.
    func mix(_ backdrop: Double, _ source: Double) -> Double {
        switch self {
        case .multiply: backdrop * source
        case .screen: backdrop + source - backdrop * source
        case .overlay: BlendMode.hardLight(source, backdrop)
        case .darken: min(backdrop, source)
        case .lighten: max(backdrop, source)
        case .colorDodge: backdrop == 0 ? 0 : source == 1 ? 1 : min(1, backdrop / (1 - source))
        case .colorBurn: backdrop == 1 ? 1 : source == 0 ? 0 : 1 - min(1, (1 - backdrop) / source)
        case .softLight: BlendMode.softLight(backdrop, source)
        case .hardLight: BlendMode.hardLight(backdrop, source)
        case .difference: abs(backdrop - source)
        case .exclusion: backdrop + source - 2 * backdrop * source
        default: source
        }
    }

    /// B(backdrop, source) of a mode that is not separable, for red, green and blue.
    func mix(_ backdrop: SIMD3<Double>, _ source: SIMD3<Double>) -> SIMD3<Double> {
        switch self {
        case .hue:
            source.withSaturation(backdrop.saturation).withLuminosity(backdrop.luminosity)
        case .saturation:
            backdrop.withSaturation(source.saturation).withLuminosity(backdrop.luminosity)
        case .color: source.withLuminosity(backdrop.luminosity)
        case .luminosity: backdrop.withLuminosity(source.luminosity)
        default: source
        }
    }

    private static func hardLight(_ backdrop: Double, _ source: Double) -> Double {
        if source <= 0.5 { return backdrop * 2 * source }
        let doubled = 2 * source - 1
        return backdrop + doubled - backdrop * doubled
    }

    private static func softLight(_ backdrop: Double, _ source: Double) -> Double {
        if source <= 0.5 { return backdrop - (1 - 2 * source) * backdrop * (1 - backdrop) }
        let curve = backdrop <= 0.25 ? ((16 * backdrop - 12) * backdrop + 4) * backdrop : backdrop.squareRoot()
        return backdrop + (2 * source - 1) * (curve - backdrop)
    }
}

extension SIMD3<Double> {
    fileprivate var luminosity: Double { 0.3 * x + 0.59 * y + 0.11 * z }
    fileprivate var saturation: Double { self.max() - self.min() }

    /// The colour moved to a luminosity, and drawn in towards grey where it would leave the range.
    fileprivate func withLuminosity(_ target: Double) -> SIMD3<Double> {
        let color = self + (target - luminosity)
        let light = color.luminosity
        let (least, most) = (color.min(), color.max())
        var result = color
        if least < 0 { result = (result - light) * (light / (light - least)) + light }
        if most > 1 { result = (result - light) * ((1 - light) / (most - light)) + light }
        return result
    }

    /// The colour stretched to a saturation, its least channel at zero.
    fileprivate func withSaturation(_ target: Double) -> SIMD3<Double> {
        let least = self.min()
        let range = self.max() - least
        return range > 0 ? (self - least) * (target / range) : .zero
    }
}
