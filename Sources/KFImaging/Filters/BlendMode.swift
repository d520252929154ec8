/// How an image meets what lies behind it: every mode of Core Graphics, under its name in CSS.
public enum BlendMode: String, Sendable, CaseIterable {
    case normal, multiply, screen, overlay, darken, lighten
    case colorDodge = "color-dodge"
    case colorBurn = "color-burn"
    case softLight = "soft-light"
    case hardLight = "hard-light"
    case difference, exclusion
    // These four look at a pixel's channels together.
    case hue, saturation, color, luminosity
    // Porter and Duff's.
    case clear, copy
    case sourceIn = "source-in"
    case sourceOut = "source-out"
    case sourceAtop = "source-atop"
    case destinationOver = "destination-over"
    case destinationIn = "destination-in"
    case destinationOut = "destination-out"
    case destinationAtop = "destination-atop"
    case xor
    case plusDarker = "plus-darker"
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
