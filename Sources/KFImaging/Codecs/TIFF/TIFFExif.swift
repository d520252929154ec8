extension TIFFTags {
    /// Description, maker, model, orientation, resolution, software, date, artist, computer and copyright.
    private static let described = [270, 271, 272, 274, 282, 283, 296, 305, 306, 315, 316, 33_432]
    /// Tags of every page, which are no metadata by themselves: orientation and resolution.
    private static let usual: Set<Int> = [274, 282, 283, 296]
    /// Offsets in a maker's note count from the start of the file, and interoperability is a directory of its own.
    private static let unmovable: Set<Int> = [0x927C, 0xA005]

    /// The metadata of the page's tags, with the directories of EXIF and GPS, as other formats keep EXIF: a TIFF file in
    /// the same byte order. Nil for a page without metadata, and for more than metadata may have.
    var exif: [UInt8]? {
        var file = Array((isLittle ? "II*\0" : "MM\0*").utf8) + number(0, 4)
        guard var fields = fields(TIFFTags.described) else { return nil }
        for link in [0x8769, 0x8825] {
            guard let directory = directory(at: link) else { continue }
            let movable = directory.tags.filter { !TIFFTags.unmovable.contains($0) }
            guard let inner = directory.fields(movable) else { return nil }
            if inner.isEmpty { continue }
            fields.append(Field(tag: link, type: 4, count: 1, value: number(append(inner, to: &file), 4)))
        }
        guard fields.contains(where: { !TIFFTags.usual.contains($0.tag) }) else { return nil }
        file.replaceSubrange(4..<8, with: number(append(fields, to: &file), 4))
        return file
    }

    /// The fields of some tags; nil when their values exceed `ImageMetadata.maximumLength`. Thousands of entries may share
    /// their bytes.
    private func fields(_ tags: [Int]) -> [Field]? {
        var (fields, left): ([Field], Int) = ([], ImageMetadata.maximumLength)
        for case let field? in tags.lazy.map({ self.field($0) }) {
            left -= field.value.count
            if left < 0 { return nil }
            fields.append(field)
        }
        return fields
    }

    /// Appends a directory and its values, and returns its offset.
    private func append(_ fields: [Field], to file: inout [UInt8]) -> Int {
        let start = file.count
        file += number(fields.count, 2) + [UInt8](repeating: 0, count: 12 * fields.count + 4)
        for (index, field) in fields.sorted(by: { $0.tag < $1.tag }).enumerated() {
            var value = field.value
            if value.count > 4 {
                value = number(file.count, 4)
                file += field.value + [UInt8](repeating: 0, count: field.value.count % 2)
            }
            let entry = number(field.tag, 2) + number(field.type, 2) + number(field.count, 4) + value
            file.replaceSubrange(start + 2 + 12 * index..<start + 2 + 12 * index + entry.count, with: entry)
        }
        return start
    }

    private func number(_ value: Int, _ width: Int) -> [UInt8] {
        isLittle ? bigEndian(value, width).reversed() : bigEndian(value, width)
    }
}
