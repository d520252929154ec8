import CImageCodecs

/// The curve from encoded values to linear light.
enum ToneCurve: Equatable {
    case srgb, bt709
    /// Linear light is the value raised to this power.
    case gamma(Double)
}

/// A colour space of primaries and a curve, from which lcms2 makes a profile.
struct StatedColorSpace: Equatable {
    /// x and y of white, red, green and blue.
    let primaries: [Double]
    let curve: ToneCurve

    static let srgbPrimaries = [0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06]
    static let srgb = StatedColorSpace(primaries: srgbPrimaries, curve: .srgb)
    static let bt709 = StatedColorSpace(primaries: srgbPrimaries, curve: .bt709)

    /// Returns the profile, always with the same bytes; nil without lcms2, or for an invalid space.
    func profile(isGray: Bool) -> [UInt8]? {
        var space = kf_color_space()
        space.is_gray = isGray ? 1 : 0
        switch curve {
        case .srgb: space.curve = KF_CURVE_SRGB
        case .bt709: space.curve = KF_CURVE_BT709
        case .gamma(let exponent): (space.curve, space.gamma) = (KF_CURVE_GAMMA, exponent)
        }
        withUnsafeMutableBytes(of: &space.chromaticities) { target in
            primaries.withUnsafeBytes { target.copyBytes(from: $0.prefix(target.count)) }
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let length = kf_color_profile(&space, &bytes, bytes.count)
        return ICCProfile.fitting(Array(bytes.prefix(length)), isGray ? .gray : .rgb)
    }
}

/// The code points of ITU-T H.273 for primaries and transfer function.
struct CodePoints: Equatable {
    let primaries: Int
    let transfer: Int

    /// The colour space; nil for PQ and HLG, whose range exceeds sRGB's, and for rare code points.
    var space: StatedColorSpace? {
        guard let primaries = CodePoints.primaries[primaries], let curve = CodePoints.curve(transfer) else {
            return nil
        }
        return StatedColorSpace(primaries: primaries, curve: curve)
    }

    /// Whether the transfer function is PQ or HLG.
    var isHDR: Bool { transfer == 16 || transfer == 18 }

    /// The primaries by code point: BT.709, BT.470 M and B/G, BT.601 (525 lines), BT.2020, DCI-P3, Display P3.
    private static let primaries: [Int: [Double]] = [
        1: StatedColorSpace.srgbPrimaries,
        4: [0.31, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08],
        5: [0.3127, 0.329, 0.64, 0.33, 0.29, 0.6, 0.15, 0.06],
        6: [0.3127, 0.329, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07],
        7: [0.3127, 0.329, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07],
        9: [0.3127, 0.329, 0.708, 0.292, 0.17, 0.797, 0.131, 0.046],
        11: [0.314, 0.351, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06],
        12: [0.3127, 0.329, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06],
    ]

    private static func curve(_ transfer: Int) -> ToneCurve? {
        switch transfer {
        case 1, 6, 14, 15: .bt709
        case 4: .gamma(2.2)
        case 5: .gamma(2.8)
        case 8: .gamma(1)
        case 13: .srgb
        default: nil
        }
    }
}
