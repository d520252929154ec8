/// The tags of the first directory of a TIFF or BigTIFF, and the number of directories.
struct TIFFTags {
    private let bytes: UnsafeRawBufferPointer
    let isLittle: Bool
    private let isBig: Bool
    private var entries: [Int: Entry] = [:]
    /// The number of entries that were read, also of tags that are repeated.
    private var read = 0
    /// The offset of the next directory; 0 for none, nil when the file ends before it.
    private let next: Int?

    private struct Entry {
        let type, count: Int
        /// The offset of the values.
        let place: Int
    }

    /// The bytes of a value by its type.
    private static let sizes = [
        1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8,
    ]
    /// The types of whole numbers without a sign: BYTE, SHORT, LONG, IFD, LONG8 and IFD8.
    private static let whole: Set<Int> = [1, 3, 4, 13, 16, 18]

    /// The values of a tag as they are in the file.
    struct Field {
        let tag, type, count: Int
        let value: [UInt8]
    }

    /// - Throws: `truncated` when the bytes do not reach to the directory.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let first = bytes.holds("II", at: 0)
        self.init(bytes, isLittle: first, isBig: bytes.count > 3 && bytes[first ? 2 : 3] == 43, at: nil)
        guard next != nil else { throw .truncated(.tiff) }
    }

    private init(_ bytes: UnsafeRawBufferPointer, isLittle: Bool, isBig: Bool, at offset: Int?) {
        (self.bytes, self.isLittle, self.isBig) = (bytes, isLittle, isBig)
        func number(_ size: Int, _ place: Int) -> Int? { bytes.tiffNumber(size, at: place, isLittle: isLittle) }
        let link = isBig ? 8 : 4
        guard let directory = offset ?? number(link, link), let count = number(isBig ? 8 : 2, directory) else {
            next = nil
            return
        }
        let (start, size) = (directory + (isBig ? 8 : 2), isBig ? 20 : 12)
        for index in 0..<min(count, 4096) {
            let entry = start + size * index
            guard let tag = number(2, entry), let type = number(2, entry + 2), let count = number(link, entry + 4)
            else { break }
            read += 1
            let field = entry + 4 + link
            let isInside = TIFFTags.sizes[type].map { count <= link / $0 } ?? false
            // No file is so long, and a smaller place cannot make a sum overflow.
            guard let place = isInside ? field : number(link, field), place < 1 << 60, entries[tag] == nil
            else { continue }
            entries[tag] = Entry(type: type, count: count, place: place)
        }
        // A directory of more entries than there are bytes ends the file.
        let end = start.addingReportingOverflow(size.multipliedReportingOverflow(by: min(count, 1 << 32)).partialValue)
        next = end.overflow ? nil : number(link, end.partialValue)
    }

    /// The number of values that a tag states.
    func count(_ tag: Int) -> Int { entries[tag]?.count ?? 0 }

    /// The value of a tag at an index; nil for one that is missing, not a whole number, or behind the end of the file.
    func value(_ tag: Int, _ index: Int = 0) -> Int? {
        guard let entry = entries[tag], index < entry.count, TIFFTags.whole.contains(entry.type),
            let size = TIFFTags.sizes[entry.type]
        else { return nil }
        return bytes.tiffNumber(size, at: entry.place + index * size, isLittle: isLittle)
    }

    var tags: [Int] { Array(entries.keys) }

    /// The values of a tag, of a type that TIFF has and BigTIFF need not; nil for more than metadata may have.
    func field(_ tag: Int) -> Field? {
        guard let entry = entries[tag], entry.type < 16, let size = TIFFTags.sizes[entry.type], entry.count > 0,
            entry.count <= ImageMetadata.maximumLength / size, entry.place <= bytes.count - size * entry.count
        else { return nil }
        let value = bytes[entry.place..<entry.place + size * entry.count]
        return Field(tag: tag, type: entry.type, count: entry.count, value: Array(value))
    }

    /// The directory that a tag points to.
    func directory(at tag: Int) -> TIFFTags? {
        guard let place = value(tag), place > 0 else { return nil }
        return TIFFTags(bytes, isLittle: isLittle, isBig: isBig, at: place)
    }

    /// The number of pages: directories that are neither a smaller copy of another page nor a mask, 65,535 at most.
    var pages: Int {
        var (directory, count): (TIFFTags, Int) = (self, 1)
        var seen: Set<Int> = []
        // Directories may overlap, so that their entries are counted, too.
        var left = 1 << 17
        while let next = directory.next, next > 0, left > 0, seen.count < 65_535, seen.insert(next).inserted {
            directory = TIFFTags(bytes, isLittle: isLittle, isBig: isBig, at: next)
            left -= directory.read
            if directory.next != nil, (directory.value(254) ?? 0) & 5 == 0 { count += 1 }
        }
        return count
    }
}
