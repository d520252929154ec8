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

/// Measures how much detail a picture has that is nearly too fine for its pixels, on a quarter of its rows.
///
/// A decode at a reduced size folds detail that its pixels cannot hold into coarser detail. How much, shows in what is
/// left just below that limit: the mean square of a high-pass filter (-1, 2, -1) / 4 in both directions. Photographs
/// have up to about 50, paintings and foliage 100, print 400 and more (8-bit levels, squared).
struct FineDetail {
    private var sum = 0
    private var samples = 0

    /// Looks at rows that follow one another.
    mutating func add(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int, width: Int, channels: Int) {
        guard width >= 3, count >= 3 else { return }
        let channel = channels == 1 ? 0 : 1
        for y in stride(from: 1, to: count - 1, by: 4) {
            let row = (rows + y * bytesPerRow).assumingMemoryBound(to: UInt8.self) + channel
            let (above, below) = (row - bytesPerRow, row + bytesPerRow)
            var rowSum = 0
            for x in stride(from: channels, to: (width - 1) * channels, by: channels) {
                let twice = 2 * Int32(row[x])
                let across = twice - Int32(row[x - channels]) - Int32(row[x + channels])
                let down = twice - Int32(above[x]) - Int32(below[x])
                rowSum += Int(across * across + down * down)
            }
            sum += rowSum
            samples += width - 2
        }
    }

    /// 0 where nothing has been looked at.
    var energy: Double { samples == 0 ? 0 : Double(sum) / 16 / Double(samples) }
}
