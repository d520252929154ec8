/// Chooses the size at which a JPEG is decoded: libjpeg makes eighths of it at little cost.
enum JPEGScale {
    /// The smallest numerator of 1, 2, 4 and 8 that reaches the minimum. The sizes in between are left out: libjpeg
    /// has no vector code for them, and they cost more than the next larger one.
    static func numerator(source: PixelSize, minimum: PixelSize?) -> Int {
        guard let minimum else { return 8 }
        return [1, 2, 4].first { numerator in
            let width = (source.width * numerator + 7) / 8
            let height = (source.height * numerator + 7) / 8
            return width >= minimum.width && height >= minimum.height
        } ?? 8
    }

    /// How many times the target's size the decode must have for a picture with so much fine detail, so that the result
    /// keeps within about 45 dB of a full decode. Measured on photographs, a painting, print and a zone plate.
    static func reserve(_ detail: FineDetail) -> Double {
        switch detail.energy {
        case ..<28: 1.5
        case ..<60: 2
        case ..<130: 3
        default: 4
        }
    }

    /// What `LanczosWeights` must give back for an eighth of the size, a quarter, a half or all of it. Each pixel of
    /// libjpeg's reduced decode is close to an average over the pixels that it stands for, which dims fine detail: 1/24
    /// makes up for an average.
    static func sharpening(_ numerator: Int) -> Double {
        switch numerator {
        case 1, 2: 1.0 / 24
        case 4: 1.0 / 40
        default: 0
        }
    }
}
