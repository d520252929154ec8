import Testing

@testable import KFImaging

extension Files {
    /// A box of an ISO media file.
    static func box(_ kind: String, _ body: [UInt8]...) -> [UInt8] {
        let body = Array(body.joined())
        return bigEndian(body.count + 8) + Array(kind.utf8) + body
    }

    private static func short(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 255), UInt8(value & 255)] }

    /// The properties of an item of that size, 8 bits and 4:2:0.
    static func avifProperties(_ width: Int, _ height: Int, av1C: UInt8 = 0x0C, others: [[UInt8]] = []) -> [[UInt8]] {
        [
            box("ispe", bigEndian(0), bigEndian(width), bigEndian(height)), box("av1C", [0x81, 0, av1C, 0]),
        ] + others
    }

    /// A still AVIF with one item. It has `data` bytes of nothing where AV1 would be, at its end.
    static func avif(
        _ properties: [[UInt8]], data: Int = 100, extent: (offset: Int, length: Int)? = nil, items: Int = 1
    ) -> [UInt8] {
        func meta(_ offset: Int) -> [UInt8] {
            let entry = box("infe", [2, 0, 0, 0], short(1), short(0), Array("av01\0".utf8))
            let associations = (1...properties.count).map { UInt8($0) | 0x80 }
            return box(
                "meta", bigEndian(0),
                box("hdlr", bigEndian(0), bigEndian(0), Array("pict".utf8), [UInt8](repeating: 0, count: 13)),
                box("pitm", bigEndian(0), short(1)),
                box(
                    "iloc", bigEndian(0), [0x44, 0], short(1), short(1), short(0), short(1),
                    bigEndian(extent?.offset ?? offset), bigEndian(extent?.length ?? data)),
                box("iinf", bigEndian(0), short(items), Array([[UInt8]](repeating: entry, count: items).joined())),
                box(
                    "iprp", box("ipco", Array(properties.joined())),
                    box("ipma", bigEndian(0), bigEndian(1), short(1), [UInt8(properties.count)], associations)))
        }
        let start = box("ftyp", Array("avif".utf8), bigEndian(0), Array("avifmif1miaf".utf8))
        let offset = start.count + meta(0).count + 8
        return start + meta(offset) + box("mdat", [UInt8](repeating: 0, count: data))
    }

    /// A still AVIF of several items, each the picture of an AVIF with one item. The first is the primary one.
    static func avif(items: [(width: Int, height: Int, file: [UInt8])]) throws -> [UInt8] {
        let numbers = 1...items.count
        let properties = try items.flatMap { item -> [[UInt8]] in
            let start = try #require(item.file.firstRange(of: Array("av1C".utf8))).upperBound
            return [
                box("ispe", bigEndian(0), bigEndian(item.width), bigEndian(item.height)),
                box("av1C", Array(item.file[start..<start + 4])),
            ]
        }
        let data = try items.map { item -> [UInt8] in
            try Array(item.file[#require(item.file.firstRange(of: Array("mdat".utf8))).upperBound...])
        }
        func meta(_ offset: Int) -> [UInt8] {
            var locations: [UInt8] = []
            var place = offset
            for (number, data) in zip(numbers, data) {
                locations += short(number) + short(0) + short(1) + bigEndian(place) + bigEndian(data.count)
                place += data.count
            }
            let entries: [UInt8] = numbers.flatMap {
                box("infe", [2, 0, 0, 0], short($0), short(0), Array("av01\0".utf8))
            }
            let owned: [UInt8] = numbers.flatMap { short($0) + [2, UInt8($0 * 2 - 1) | 0x80, UInt8($0 * 2) | 0x80] }
            return box(
                "meta", bigEndian(0),
                box("hdlr", bigEndian(0), bigEndian(0), Array("pict".utf8), [UInt8](repeating: 0, count: 13)),
                box("pitm", bigEndian(0), short(1)),
                box("iloc", bigEndian(0), [0x44, 0], short(items.count), locations),
                box("iinf", bigEndian(0), short(items.count), entries),
                box(
                    "iprp", box("ipco", Array(properties.joined())),
                    box("ipma", bigEndian(0), bigEndian(items.count), owned)))
        }
        let start = box("ftyp", Array("avif".utf8), bigEndian(0), Array("avifmif1miaf".utf8))
        return start + meta(start.count + meta(0).count + 8) + box("mdat", Array(data.joined()))
    }

    /// An animation of frames of 10 bytes, in chunks of two frames.
    static func avis(
        _ width: Int, _ height: Int, frames: Int, loop: (isRepeating: Bool, plays: Int?)? = nil
    ) -> [UInt8] {
        func moov(_ offset: Int) -> [UInt8] {
            let duration = loop.map { $0.plays.map { $0 * 100 - 1 } ?? 0xFFFF_FFFF } ?? 100
            let header = box(
                "tkhd", bigEndian(0), bigEndian(0), bigEndian(0), bigEndian(1), bigEndian(0), bigEndian(duration),
                [UInt8](repeating: 0, count: 52), bigEndian(width << 16), bigEndian(height << 16))
            let edits = loop.map {
                box(
                    "edts",
                    box(
                        "elst", bigEndian($0.isRepeating ? 1 : 0), bigEndian(1), bigEndian(100), bigEndian(0),
                        bigEndian(1 << 16)))
            }
            let entry = box("av01", [UInt8](repeating: 0, count: 78), box("av1C", [0x81, 0, 0x4C, 0]))
            let chunks = (frames + 1) / 2
            let table = box(
                "stbl", box("stsd", bigEndian(0), bigEndian(1), entry),
                box("stts", bigEndian(0), bigEndian(1), bigEndian(frames), bigEndian(1)),
                box(
                    "stsc", bigEndian(0), bigEndian(frames % 2 == 1 ? 2 : 1), bigEndian(1), bigEndian(2), bigEndian(1),
                    frames % 2 == 1 ? bigEndian(chunks) + bigEndian(1) + bigEndian(1) : []),
                box(
                    "stsz", bigEndian(0), bigEndian(0), bigEndian(frames),
                    Array([[UInt8]](repeating: bigEndian(10), count: frames).joined())),
                box(
                    "stco", bigEndian(0), bigEndian(chunks), Array((0..<chunks).flatMap { bigEndian(offset + 20 * $0) })
                ))
            let media = box("mdia", box("mdhd", [UInt8](repeating: 0, count: 24)), box("minf", table))
            return box("moov", box("trak", header, edits ?? [], media))
        }
        let start = box("ftyp", Array("avis".utf8), bigEndian(0), Array("avisavifmsf1".utf8))
        let offset = start.count + moov(0).count + 8
        return start + moov(offset) + box("mdat", [UInt8](repeating: 0, count: frames * 10))
    }
}
