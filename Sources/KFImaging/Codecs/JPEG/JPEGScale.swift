import CImageCodecs

/// Chooses the scale of a JPEG decode: libjpeg decodes at multiples of an eighth at little cost.
enum JPEGScale {
    /// Returns the smallest numerator of 1, 2, 4 and 8 that reaches the minimum.
    ///
    /// libjpeg has no vector code for the others, which cost more than the next larger one of these.
    static func numerator(source: PixelSize, minimum: PixelSize?) -> Int {
        guard let minimum else { return 8 }
        return [1, 2, 4].first { numerator in
            let width = (source.width * numerator + 7) / 8
            let height = (source.height * numerator + 7) / 8
            return width >= minimum.width && height >= minimum.height
        } ?? 8
    }

    /// Returns the ratio of the decoded size to the target that keeps the result within about 45 dB of a full decode.
    ///
    /// The thresholds were measured on photographs, a painting, print and a zone plate.
    static func reserve(_ detail: FineDetail) -> Double {
        switch detail.energy {
        case ..<28: 1.5
        case ..<60: 2
        case ..<130: 3
        default: 4
        }
    }

    /// Returns the sharpening of `LanczosWeights` for a scale.
    ///
    /// Each pixel of a reduced decode is close to the average of the pixels that it replaces, which dims fine detail.
    /// 1/24 compensates an average.
    static func sharpening(_ numerator: Int) -> Double {
        switch numerator {
        case 1, 2: 1.0 / 24
        case 4: 1.0 / 40
        default: 0
        }
    }
}

/// Measures the detail of a picture near its Nyquist limit, on a quarter of its rows.
///
/// A decode at a reduced size aliases finer detail. The energy just below the limit predicts how much: the mean square
/// of a high-pass filter (-1, 2, -1) / 4 in both directions. Photographs have up to about 50, paintings and foliage
/// 100, print 400 and more (squared 8-bit levels).
struct FineDetail {
    private var sum = 0
    private var samples = 0

    /// Measures consecutive rows.
    mutating func add(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int, width: Int, channels: Int) {
        guard width >= 3, count >= 3 else { return }
        let channel = channels == 1 ? 0 : 1
        for y in stride(from: 1, to: count - 1, by: 4) {
            let row = (rows + y * bytesPerRow).assumingMemoryBound(to: UInt8.self) + channel
            let (first, middle) = (row + channels - bytesPerRow, row + channels)
            sum += Int(
                truncatingIfNeeded: kf_detail_row(first, middle, middle + bytesPerRow, channels, width - 2))
            samples += width - 2
        }
    }

    /// The mean energy; 0 before any row was measured.
    var energy: Double { samples == 0 ? 0 : Double(sum) / 16 / Double(samples) }
}
