@testable import KFImaging

/// A TIFF of one or several pages, each in one uncompressed strip, built tag by tag.
struct TIFFFile {
    var isLittle = true
    var isBig = false
    var pages: [Page] = []

    struct Page {
        var size: (width: Int, height: Int)
        var bits = 8
        var samples = 1
        /// 0 white is zero, 1 black is zero, 2 RGB, 3 palette, 5 inks.
        var photometric = 1
        var extra: Int?
        var orientation = 1
        var compression = 1
        var isPlanar = false
        /// Tags with values of 16 bits, in addition to the usual ones.
        var others: [Int: [Int]] = [:]
        var texts: [Int: String] = [:]
        /// Tags that are left out.
        var omitted: Set<Int> = []
        var data: [UInt8]
    }

    private func number(_ value: Int, _ count: Int) -> [UInt8] {
        let big = (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        return isLittle ? big.reversed() : big
    }

    var bytes: [UInt8] {
        let long = isBig ? 8 : 4
        var bytes = Array((isLittle ? "II" : "MM").utf8) + number(isBig ? 43 : 42, 2)
        if isBig { bytes += number(8, 2) + number(0, 2) }
        var link = bytes.count
        bytes += number(0, long)
        for page in pages {
            var tags: [(tag: Int, type: Int, values: [Int])] = page.others.map { ($0.key, 3, $0.value) }
            tags += [
                (256, 4, [page.size.width]), (257, 4, [page.size.height]),
                (258, 3, [Int](repeating: page.bits, count: page.samples)), (259, 3, [page.compression]),
                (262, 3, [page.photometric]), (274, 3, [page.orientation]), (277, 3, [page.samples]),
                (278, 4, [page.size.height]), (284, 3, [page.isPlanar ? 2 : 1]),
            ]
            let strips = page.isPlanar ? page.samples : 1
            let length = page.data.count / strips
            let start = bytes.count
            tags.append((273, 4, (0..<strips).map { start + $0 * length }))
            tags.append((279, 4, [Int](repeating: length, count: strips)))
            if let extra = page.extra { tags.append((338, 3, [extra])) }
            tags += page.texts.map { ($0.key, 2, $0.value.utf8.map { Int($0) } + [0]) }
            tags.removeAll { page.omitted.contains($0.tag) }
            bytes += page.data + [UInt8](repeating: 0, count: page.data.count % 2)
            var entries: [UInt8] = []
            for (tag, type, values) in tags.sorted(by: { $0.tag < $1.tag }) {
                let size = [2: 1, 3: 2, 4: 4][type] ?? 0
                var field = values.flatMap { number($0, size) }
                if field.count > long {
                    let place = bytes.count
                    bytes += field
                    field = number(place, long)
                }
                entries += number(tag, 2) + number(type, 2) + number(values.count, long) + field
                entries += [UInt8](repeating: 0, count: long - field.count)
            }
            bytes.replaceSubrange(link..<link + long, with: number(bytes.count, long))
            bytes += number(tags.count, isBig ? 8 : 2) + entries
            link = bytes.count
            bytes += number(0, long)
        }
        return bytes
    }

    /// A file of one page.
    static func bytes(_ page: Page, isLittle: Bool = true, isBig: Bool = false) -> [UInt8] {
        TIFFFile(isLittle: isLittle, isBig: isBig, pages: [page]).bytes
    }
}
