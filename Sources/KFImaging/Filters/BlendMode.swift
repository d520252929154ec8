/// How an image meets what lies behind it: every mode of Core Graphics, under its name in CSS.
public enum BlendMode: String, Sendable, CaseIterable {
    /// The image lies over what is behind it.
    case normal
    /// The product: never brighter than either.
    case multiply
    /// The product of the complements, complemented: never darker than either.
    case screen
    /// `hardLight` with the two changed about.
    case overlay
    /// The darker of the two, channel by channel.
    case darken
    /// The brighter of the two, channel by channel.
    case lighten
    /// Brightens what is behind, the more the brighter the image is.
    case colorDodge = "color-dodge"
    /// Darkens what is behind, the more the darker the image is.
    case colorBurn = "color-burn"
    /// Darkens or brightens gently, as diffuse light would.
    case softLight = "soft-light"
    /// `multiply` where the image is dark, `screen` where it is bright.
    case hardLight = "hard-light"
    /// How far the two are apart.
    case difference
    /// As `difference`, with less contrast.
    case exclusion
    // These four look at a pixel's channels together.
    /// The image's hue, with saturation and luminosity of what is behind.
    case hue
    /// The image's saturation, with hue and luminosity of what is behind.
    case saturation
    /// The image's hue and saturation, with the luminosity of what is behind.
    case color
    /// The image's luminosity, with hue and saturation of what is behind.
    case luminosity
    // Porter and Duff's.
    /// Nothing.
    case clear
    /// The image alone.
    case copy
    /// The image, where there is something behind it.
    case sourceIn = "source-in"
    /// The image, where there is nothing behind it.
    case sourceOut = "source-out"
    /// The image over what is behind, and only where that is.
    case sourceAtop = "source-atop"
    /// What is behind, over the image.
    case destinationOver = "destination-over"
    /// What is behind, where the image is.
    case destinationIn = "destination-in"
    /// What is behind, where the image is not.
    case destinationOut = "destination-out"
    /// What is behind over the image, and only where that is.
    case destinationAtop = "destination-atop"
    /// Each where the other is not.
    case xor
    /// The sum less one, premultiplied, at least 0.
    case plusDarker = "plus-darker"
    /// The sum, premultiplied, at most 1.
    case plusLighter = "plus-lighter"

    /// Whether every channel goes its own way.
    var isSeparable: Bool {
        switch self {
        case .hue, .saturation, .color, .luminosity: false
        default: true
        }
    }

    /// Porter and Duff's shares of source and backdrop; nil for the modes that mix colours and lie over the backdrop.
    func shares(source: Double, backdrop: Double) -> (source: Double, backdrop: Double)? {
        switch self {
        case .clear: (0, 0)
        case .copy: (1, 0)
        case .sourceIn: (backdrop, 0)
        case .sourceOut: (1 - backdrop, 0)
        case .sourceAtop: (backdrop, 1 - source)
        case .destinationOver: (1 - backdrop, 1)
        case .destinationIn: (0, source)
        case .destinationOut: (0, 1 - source)
        case .destinationAtop: (1 - backdrop, source)
        case .xor: (1 - backdrop, 1 - source)
        default: nil
        }
    }
}

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
