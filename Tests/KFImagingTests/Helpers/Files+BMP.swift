import Support

/// A BMP of any header, written field by field.
struct BMPFile {
    /// 12 and 16 to 64 for OS/2, 40 to 124 for Windows.
    var header = 40
    var width: Int
    /// Negative for rows from the top down.
    var height: Int
    var depth: Int
    var compression = 0
    /// Red, green, blue and perhaps alpha.
    var masks: [UInt32] = []
    /// Red, green and blue of every entry.
    var palette: [[UInt8]] = []
    var statedColors: Int?
    /// Unused bytes between palette and rows.
    var gap = 0
    var statedOffset: Int?
    /// The rows or runs as stored.
    var data: [UInt8] = []
    /// A profile, which the header of version 5 states; it follows the data.
    var profile: [UInt8] = []

    var bytes: [UInt8] {
        let body = information(isIcon: false)
        let offset = statedOffset ?? 14 + body.count + gap
        // The stated size of the file is 0, which is common and wrong.
        return Array("BM".utf8) + Self.word(0) + Self.word(0) + Self.word(offset) + body
            + [UInt8](repeating: 0xEE, count: gap) + data + profile
    }

    /// The bitmap as in an ICO: no file header, twice the height, and the mask of transparency behind the rows.
    func icon(mask: [UInt8]) -> [UInt8] { information(isIcon: true, mask: mask.count) + data + mask + profile }

    /// The header, the masks and the palette.
    private func information(isIcon: Bool, mask: Int = 0) -> [UInt8] {
        var fields: [UInt8]
        let height = isIcon ? height * 2 : height
        if header == 12 {
            fields = Self.word(12) + Self.half(width) + Self.half(height) + Self.half(1) + Self.half(depth)
        } else {
            fields = Self.word(header) + Self.word(width) + Self.word(height) + Self.half(1) + Self.half(depth)
            fields += Self.word(compression) + Self.word(0) + Self.word(2835) + Self.word(2835)
            fields += Self.word(statedColors ?? (depth <= 8 ? palette.count : 0)) + Self.word(0)
            fields += masks.flatMap { Self.word(Int($0)) }
            let room = max(0, header - fields.count)
            fields += [UInt8](repeating: 0, count: room)
            if header < 40 { fields = Array(fields[..<header]) }
            if header == 124, !profile.isEmpty {
                fields.replaceSubrange(56..<60, with: Array("DEBM".utf8))
                fields.replaceSubrange(112..<116, with: Self.word(124 + data.count + mask))
                fields.replaceSubrange(116..<120, with: Self.word(profile.count))
            }
        }
        for color in palette { fields += color.reversed() + (header == 12 ? [] : [0]) }
        return fields
    }

    static func half(_ value: Int) -> [UInt8] { [0, 8].map { UInt8(truncatingIfNeeded: value >> $0) } }
    static func word(_ value: Int) -> [UInt8] { [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> $0) } }

    /// Packs rows of pixel values, padded to 32 bits: the first pixel has the highest bits of a byte, and a value of
    /// several bytes begins with the lowest.
    static func packed(_ rows: [[Int]], depth: Int) -> [UInt8] {
        rows.flatMap { row -> [UInt8] in
            var bytes: [UInt8] = []
            if depth >= 8 {
                for value in row {
                    for shift in stride(from: 0, to: depth, by: 8) { bytes.append(UInt8(value >> shift & 255)) }
                }
            } else {
                let perByte = 8 / depth
                for start in stride(from: 0, to: row.count, by: perByte) {
                    var byte = 0
                    for index in 0..<perByte {
                        byte = byte << depth | (start + index < row.count ? row[start + index] : 0)
                    }
                    bytes.append(UInt8(byte))
                }
            }
            return bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
        }
    }

    /// Random values of pixels, rows from the top down.
    static func values(_ width: Int, _ height: Int, below limit: Int, _ dice: inout Dice) -> [[Int]] {
        (0..<height).map { _ in (0..<width).map { _ in dice.roll(limit) } }
    }

    /// A palette of random colours.
    static func palette(_ count: Int, _ dice: inout Dice) -> [[UInt8]] {
        (0..<count).map { _ in (0..<3).map { _ in UInt8(dice.roll(256)) } }
    }

    /// A file of random pixels, and the pixels that it shows, as RGBA.
    static func random(
        header: Int = 40, _ width: Int, _ height: Int, depth: Int, _ dice: inout Dice
    ) -> (file: BMPFile, pixels: [UInt8]) {
        let palette = depth <= 8 ? palette(1 << depth, &dice) : []
        let rows = values(width, height, below: 1 << depth, &dice)
        let file = BMPFile(
            header: header, width: width, height: height, depth: depth, palette: palette,
            data: packed(rows.reversed(), depth: depth))
        let pixels = rows.joined().flatMap { value -> [UInt8] in
            switch depth {
            case ...8: return palette[value] + [255]
            case 16:
                return [10, 5, 0].map { UInt8((Double(value >> $0 & 31) * 255 / 31).rounded()) } + [255]
            default: return [16, 8, 0].map { UInt8(value >> $0 & 255) } + [255]
            }
        }
        return (file, pixels)
    }
}

extension Files {
    /// An ICO; an entry's size of nil is that of the picture, if that is known to be at most 256.
    static func ico(_ pictures: [(size: Int, bits: Int, bytes: [UInt8])]) -> [UInt8] {
        var directory = [UInt8]([0, 0, 1, 0]) + BMPFile.half(pictures.count)
        var offset = 6 + 16 * pictures.count
        for picture in pictures {
            let side = UInt8(truncatingIfNeeded: picture.size)
            directory += [side, side, 0, 0] + BMPFile.half(1) + BMPFile.half(picture.bits)
            directory += BMPFile.word(picture.bytes.count) + BMPFile.word(offset)
            offset += picture.bytes.count
        }
        return directory + pictures.flatMap(\.bytes)
    }
}
