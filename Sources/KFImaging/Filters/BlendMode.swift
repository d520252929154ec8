/// The blend modes of Core Graphics, under their CSS names. The source is the image, the backdrop what lies behind it.
public enum BlendMode: String, Sendable, CaseIterable {
    /// The source over the backdrop.
    case normal
    /// The product; never brighter than either.
    case multiply
    /// The complement of the product of the complements; never darker than either.
    case screen
    /// `hardLight` with source and backdrop exchanged.
    case overlay
    /// The darker of the two in each channel.
    case darken
    /// The brighter of the two in each channel.
    case lighten
    /// Brightens the backdrop to reflect the source.
    case colorDodge = "color-dodge"
    /// Darkens the backdrop to reflect the source.
    case colorBurn = "color-burn"
    /// Darkens or brightens the backdrop like a diffuse light.
    case softLight = "soft-light"
    /// `multiply` where the source is dark, `screen` where it is bright.
    case hardLight = "hard-light"
    /// The absolute difference.
    case difference
    /// Like `difference`, with less contrast.
    case exclusion
    // The next four are not separable: they mix the three channels of a pixel together.
    /// The hue of the source with the saturation and luminosity of the backdrop.
    case hue
    /// The saturation of the source with the hue and luminosity of the backdrop.
    case saturation
    /// The hue and saturation of the source with the luminosity of the backdrop.
    case color
    /// The luminosity of the source with the hue and saturation of the backdrop.
    case luminosity
    // The rest are Porter and Duff's operators.
    /// Transparent.
    case clear
    /// The source alone.
    case copy
    /// The source where there is a backdrop.
    case sourceIn = "source-in"
    /// The source where there is no backdrop.
    case sourceOut = "source-out"
    /// The source over the backdrop, only where there is a backdrop.
    case sourceAtop = "source-atop"
    /// The backdrop over the source.
    case destinationOver = "destination-over"
    /// The backdrop where there is a source.
    case destinationIn = "destination-in"
    /// The backdrop where there is no source.
    case destinationOut = "destination-out"
    /// The backdrop over the source, only where there is a source.
    case destinationAtop = "destination-atop"
    /// Each where the other is absent.
    case xor
    /// The premultiplied sum minus 1, at least 0.
    case plusDarker = "plus-darker"
    /// The premultiplied sum, at most 1.
    case plusLighter = "plus-lighter"

    /// Whether each channel is mixed independently of the others.
    var isSeparable: Bool {
        switch self {
        case .hue, .saturation, .color, .luminosity: false
        default: true
        }
    }

    /// The Porter–Duff factors of source and backdrop; nil for the modes that mix colours and use source-over.
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

/// The W3C's blend functions for straight colours from 0 to 1.
extension BlendMode {
    /// B(backdrop, source) of a separable mode; the source for the modes that mix no colours.
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
