/// EXIF data, a small TIFF file: its orientation, and what describes other pixels than those of the picture.
enum ExifFile {
    /// Returns the orientation; nil when there is none or the data is damaged, since metadata must not fail a picture.
    ///
    /// Only the first directory is read, once, so that loops and huge counts cost nothing.
    static func orientation(_ exif: UnsafeRawBufferPointer) -> Orientation? {
        guard let tiff = TIFF(exif), let entry = tiff.orientation, let value = tiff.integer(entry) else { return nil }
        return Orientation(value)
    }

    /// Returns the TIFF file with its orientation set to upright; nil for other data.
    static func upright(_ exif: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let tiff = TIFF(exif) else { return nil }
        var bytes = Array(tiff.bytes)
        if let entry = tiff.orientation { tiff.write(1, to: entry, in: &bytes) }
        return bytes
    }

    /// Returns the TIFF file for a picture of this size, without the thumbnail and every other JPEG in it. The rest stays
    /// at its place, because offsets in a maker's note count from the start of the file.
    static func describing(_ size: PixelSize, _ exif: UnsafeRawBufferPointer) -> [UInt8] {
        guard let tiff = TIFF(exif) else { return Array(exif) }
        var bytes = Array(tiff.bytes)
        for (tag, side) in tiff.sides {
            tiff.write(side == .width ? size.width : size.height, to: tag, in: &bytes)
        }
        for range in tiff.pictures.sorted(by: { $0.upperBound > $1.upperBound }) {
            if range.upperBound >= bytes.count {
                bytes.removeSubrange(min(range.lowerBound, bytes.count)...)
            } else {
                bytes.replaceSubrange(range, with: repeatElement(0, count: range.count))
            }
        }
        if let link = tiff.nextLink, link + 4 <= bytes.count {
            bytes.replaceSubrange(link..<link + 4, with: [0, 0, 0, 0])
        }
        return bytes
    }
}

/// The directories of a TIFF file. Whatever is damaged is as good as missing.
private struct TIFF {
    struct Entry {
        let tag, type, count: Int
        /// The offset of the field with the value, or with its offset.
        let field: Int
    }

    enum Side { case width, height }

    let bytes: UnsafeRawBufferPointer
    private let isLittle: Bool

    /// Nil without a TIFF header. EXIF's marker may precede it.
    init?(_ exif: UnsafeRawBufferPointer) {
        bytes = exif.holds("Exif\0\0", at: 0) ? UnsafeRawBufferPointer(rebasing: exif[6...]) : exif
        isLittle = bytes.holds("II*\0", at: 0)
        guard isLittle || bytes.holds("MM\0*", at: 0) else { return nil }
    }

    private func short(_ offset: Int) -> Int? { bytes.tiffNumber(2, at: offset, isLittle: isLittle) }
    private func long(_ offset: Int) -> Int? { bytes.tiffNumber(4, at: offset, isLittle: isLittle) }

    /// The bytes of a whole number of this type; 0 for any other type.
    private static func width(_ type: Int) -> Int {
        switch type {
        case 1, 6: 1
        case 3, 8: 2
        case 4, 9, 13: 4
        default: 0
        }
    }

    private func entry(_ tag: Int, in directory: Int?) -> Entry? {
        guard let directory, let count = short(directory) else { return nil }
        for index in 0..<count {
            let place = directory + 2 + 12 * index
            guard let found = short(place), let type = short(place + 2), let count = long(place + 4) else { return nil }
            if found == tag { return Entry(tag: tag, type: type, count: count, field: place + 8) }
        }
        return nil
    }

    /// The first whole number of an entry, whatever the type of its numbers. Those with a sign are read without.
    func integer(_ entry: Entry, at index: Int = 0) -> Int? {
        let width = TIFF.width(entry.type)
        guard width > 0, index < max(1, entry.count),
            let start = width * entry.count <= 4 ? entry.field : long(entry.field)
        else { return nil }
        return bytes.tiffNumber(width, at: start + width * index, isLittle: isLittle)
    }

    /// Writes a number in the type of the entry, or as one of 32 bits.
    func write(_ value: Int, to entry: Entry, in bytes: inout [UInt8]) {
        guard entry.field + 4 <= bytes.count else { return }
        var (type, width) = (entry.type, TIFF.width(entry.type))
        if width == 0 || value >= 1 << (8 * width) { (type, width) = (4, 4) }
        func put(_ number: Int, _ width: Int, at place: Int) {
            for index in 0..<width {
                let shift = 8 * (isLittle ? index : width - 1 - index)
                bytes[place + index] = UInt8(truncatingIfNeeded: number >> shift)
            }
        }
        put(type, 2, at: entry.field - 6)
        put(1, 4, at: entry.field - 4)
        put(0, 4, at: entry.field)
        put(value, width, at: entry.field)
    }

    private var first: Int? { long(4) }

    var orientation: Entry? { entry(0x0112, in: first) }

    private func directory(_ tag: Int, in directory: Int?) -> Int? {
        entry(tag, in: directory).flatMap { integer($0) }
    }

    /// The entries that state the sides of the picture: ImageWidth, PixelXDimension and RelatedImageWidth.
    var sides: [(Entry, Side)] {
        let exif = directory(0x8769, in: first)
        let places = [(first, 0x0100), (exif, 0xA002), (directory(0xA005, in: exif), 0x1001)]
        return places.flatMap { directory, tag in
            [entry(tag, in: directory).map { ($0, .width) }, entry(tag + 1, in: directory).map { ($0, .height) }]
                .compactMap { $0 }
        }
    }

    /// The place of the offset of the second directory, which describes the thumbnail; nil without one.
    var nextLink: Int? {
        guard let first, let count = short(first), long(first + 2 + 12 * count) ?? 0 > 0 else { return nil }
        return first + 2 + 12 * count
    }

    /// The places of the thumbnail with its directory, and of all JPEGs, such as those in a maker's note.
    var pictures: [Range<Int>] {
        var ranges: [Range<Int>] = []
        func add(_ start: Int?, _ length: Int?) {
            guard let start, let length, length > 0, start >= 8, start < bytes.count else { return }
            ranges.append(start..<min(start + length, bytes.count))
        }
        if let link = nextLink, let second = long(link) {
            func number(_ tag: Int, _ index: Int = 0) -> Int? {
                entry(tag, in: second).flatMap { integer($0, at: index) }
            }
            add(number(0x0201), number(0x0202))
            for index in 0..<min(entry(0x0111, in: second)?.count ?? 0, 4096) {
                add(number(0x0111, index), number(0x0117, index))
            }
            add(second, short(second).map { 2 + 12 * $0 + 4 })
        }
        var start = 0
        // A file has a few at most; each try is a walk to the end.
        for _ in 0..<64 {
            guard let behind = bytes[start...].end(of: TIFF.startOfJPEG) else { break }
            start = behind
            // One that does not end is no picture.
            guard let length = try? JPEGMarkerWalk.length(bytes.part(behind - 3..<bytes.count)) else { continue }
            add(behind - 3, length)
            start = behind - 3 + length
        }
        return ranges
    }

    private static let startOfJPEG: [UInt8] = [0xFF, 0xD8, 0xFF]
}
