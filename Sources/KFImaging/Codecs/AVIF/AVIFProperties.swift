/// The properties of a coded picture, of an item or a track.
struct AVIFProperties {
    var size = PixelSize(width: 0, height: 0)
    private(set) var bitDepth = 8
    /// Whether the picture has luma only.
    private(set) var isGray = false
    /// The samples of luma and chroma for each four pixels.
    private(set) var samplesOfFour = 12
    /// Whether an auxiliary picture is alpha; nil if it does not state what it is.
    private(set) var isAlpha: Bool?
    /// Whether the configuration of a decoder was read, and whether it is one of AV1.
    private(set) var hasConfiguration = false
    private(set) var isAV1 = false
    /// The quarter turns of irot, anticlockwise.
    private var turns = 0
    /// The mode of imir: 0 exchanges top and bottom, 1 left and right.
    private var mirror: Int?
    /// The four fractions of clap: width, height, horizontal and vertical offset of the centre.
    private var aperture: [(numerator: Int, denominator: Int)]?

    /// Reads a property that pixels, size or model depend on; ignores any other.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ box: ISOBox) {
        var cursor = ISOCursor(bytes, box.body)
        switch box.kind {
        case "ispe":
            guard cursor.skip(4), let width = cursor.read(4), let height = cursor.read(4) else { return }
            size = PixelSize(width: width, height: height)
        case "av1C":
            guard cursor.skip(2), let flags = cursor.read(1) else { return }
            bitDepth = flags & 0x40 == 0 ? 8 : flags & 0x20 == 0 ? 10 : 12
            isGray = flags & 0x10 != 0
            samplesOfFour = isGray ? 4 : flags & 0x08 == 0 ? 12 : flags & 0x04 == 0 ? 8 : 6
            (hasConfiguration, isAV1) = (true, true)
        case "hvcC":
            // The idc of the chroma, and the depth of luma less 8, follow 16 bytes of profile and level.
            guard cursor.skip(16), let chroma = cursor.read(1), let depth = cursor.read(1) else { return }
            bitDepth = (depth & 7) + 8
            isGray = chroma & 3 == 0
            samplesOfFour = [4, 6, 8, 12][chroma & 3]
            hasConfiguration = true
        case "auxC", "auxi":
            isAlpha = AVIFProperties.alphaNames.contains { bytes.holds($0, at: box.body.lowerBound + 4) }
        case "irot": turns = (cursor.read(1) ?? 0) & 3
        case "imir": mirror = cursor.read(1).map { $0 & 1 }
        case "clap":
            var fractions: [(Int, Int)] = []
            for isOffset in [false, false, true, true] {
                guard let numerator = cursor.read(4), let denominator = cursor.read(4) else { return }
                fractions.append((isOffset ? Int(Int32(truncatingIfNeeded: numerator)) : numerator, denominator))
            }
            aperture = fractions
        default: break
        }
    }

    /// Takes depth and model from a cell of a grid, which has no configuration of its own.
    mutating func takeConfiguration(of cell: AVIFProperties) {
        (bitDepth, isGray, samplesOfFour) = (cell.bitDepth, cell.isGray, cell.samplesOfFour)
        (hasConfiguration, isAV1) = (cell.hasConfiguration, cell.isAV1)
    }

    /// MIAF demands the rotation before the mirroring, and that both replace the orientation of Exif.
    var orientation: Orientation {
        let values = [[1, 4, 2], [8, 5, 7], [3, 2, 4], [6, 7, 5]]
        return Orientation(values[turns][mirror.map { $0 + 1 } ?? 0])
    }

    /// The part of the coded picture that is displayed, before the rotation: all of it unless clap states a rectangle
    /// of whole pixels inside.
    var visible: (x: Range<Int>, y: Range<Int>) {
        guard let aperture, let x = AVIFProperties.part(of: size.width, aperture[0], offset: aperture[2]),
            let y = AVIFProperties.part(of: size.height, aperture[1], offset: aperture[3])
        else { return (0..<size.width, 0..<size.height) }
        return (x, y)
    }

    /// Returns the range of a length whose centre has this distance from the centre of the whole; nil for one that is
    /// not inside or not of whole pixels.
    private static func part(
        of whole: Int, _ length: (numerator: Int, denominator: Int), offset: (numerator: Int, denominator: Int)
    ) -> Range<Int>? {
        guard whole > 0, length.denominator > 0, offset.denominator > 0, length.numerator % length.denominator == 0
        else { return nil }
        let size = length.numerator / length.denominator
        guard (1...whole).contains(size), whole < 1 << 30, offset.denominator < 1 << 31 else { return nil }
        // (whole - size) / 2 + offset, of which no term overflows.
        let doubled = (whole - size) * offset.denominator + 2 * offset.numerator
        guard doubled >= 0, doubled % (2 * offset.denominator) == 0 else { return nil }
        let start = doubled / (2 * offset.denominator)
        return start <= whole - size ? start..<start + size : nil
    }

    private static let alphaNames: [StaticString] = [
        "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0", "urn:mpeg:hevc:2015:auxid:1\0",
    ]
}
