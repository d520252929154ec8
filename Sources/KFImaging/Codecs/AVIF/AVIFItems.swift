/// The primary picture of a meta box: an item, or a grid of them, with or without alpha.
struct AVIFItems {
    private(set) var properties = AVIFProperties()
    private(set) var hasAlpha = false
    /// Whether the file holds all bytes of the picture and its metadata.
    private(set) var hasPicture = true
    /// Whether the file holds all bytes of the other items too, such as a thumbnail.
    private(set) var hasOthers = true
    /// The bytes of the items in several extents, which libavif copies.
    private(set) var scattered = 0
    private(set) var extentCount = 0
    /// The AV1 data of the picture, of its cells and of their alpha.
    private(set) var coded: [AV1Stream] = []
    /// Whether the data was not read to its end.
    private(set) var hasTooManyUnits = false
    var mostFrames: Int { coded.map(\.frames).max() ?? 0 }
    /// The cells of a grid; 0 for a picture in one piece.
    var cellCount: Int { cells.count }

    private let bytes: UnsafeRawBufferPointer
    /// The first box of each kind.
    private var boxes = Boxes()
    private let primary: Int
    private var cells: Set<Int> = []

    private struct Boxes {
        var pitm, iinf, iloc, iref, idat, ipco: Range<Int>?
        var ipma: [Range<Int>] = []
    }

    /// - Throws: `corrupt` without a primary item.
    init(_ bytes: UnsafeRawBufferPointer, meta: Range<Int>) throws(ImagingError) {
        self.bytes = bytes
        boxes = try AVIFItems.boxes(bytes, meta)
        var cursor = ISOCursor(bytes, boxes.pitm ?? 0..<0)
        guard let version = cursor.readVersion()?.version, let primary = cursor.read(version == 0 ? 2 : 4) else {
            throw .corrupt(.avif, reason: "no primary item")
        }
        self.primary = primary
        try forEachReference("dimg") { (item, cells) in
            if item == primary { self.cells.formUnion(cells) }
        }
        var alphas: [Int: Int] = [:]
        let pictures = cells.union([primary])
        try forEachReference("auxl") { (item, masters) in
            for master in masters where pictures.contains(master) { alphas[item] = master }
        }
        try readProperties(&alphas)
        hasAlpha = alphas.values.contains(primary) || !cells.isEmpty && cells.isSubset(of: alphas.values)
        var needed = pictures.union(alphas.keys)
        try forEachReference("dimg") { (item, cells) in
            if alphas[item] != nil { needed.formUnion(cells) }
        }
        try forEachReference("cdsc") { (item, described) in
            if described.contains(primary) { needed.insert(item) }
        }
        readLocations(needed, decoded: (cells.isEmpty ? [primary] : cells).union(alphas.keys))
    }

    private static func boxes(_ bytes: UnsafeRawBufferPointer, _ meta: Range<Int>) throws(ImagingError) -> Boxes {
        var boxes = Boxes()
        guard meta.count >= 4 else { return boxes }
        try bytes.forEachBox(in: meta.lowerBound + 4..<meta.upperBound) { (box) throws(ImagingError) in
            func first(_ name: StaticString, _ place: WritableKeyPath<Boxes, Range<Int>?>) {
                if bytes.holds(name, at: box.kind), boxes[keyPath: place] == nil { boxes[keyPath: place] = box.body }
            }
            first("pitm", \.pitm)
            first("iinf", \.iinf)
            first("iloc", \.iloc)
            first("iref", \.iref)
            first("idat", \.idat)
            guard bytes.holds("iprp", at: box.kind) else { return }
            try bytes.forEachBox(in: box.body) { (box) throws(ImagingError) in
                if bytes.holds("ipco", at: box.kind), boxes.ipco == nil { boxes.ipco = box.body }
                if bytes.holds("ipma", at: box.kind) { boxes.ipma.append(box.body) }
            }
        }
        return boxes
    }

    /// Calls `visit` with each reference of a kind: the item that refers, and the items that it refers to.
    private func forEachReference(
        _ kind: StaticString, _ visit: (Int, [Int]) -> Void
    ) throws(ImagingError) {
        var cursor = ISOCursor(bytes, boxes.iref ?? 0..<0)
        guard let version = cursor.readVersion()?.version else { return }
        let size = AVIFItems.identifierSize(version)
        try bytes.forEachBox(in: cursor.position..<cursor.end) { (box) in
            guard bytes.holds(kind, at: box.kind) else { return }
            var cursor = ISOCursor(bytes, box.body)
            guard let item = cursor.read(size), let count = cursor.read(2) else { return }
            var others: [Int] = []
            for _ in 0..<count {
                guard let other = cursor.read(size) else { break }
                others.append(other)
            }
            visit(item, others)
        }
    }

    private static func identifierSize(_ version: Int) -> Int { version == 0 ? 2 : 4 }

    /// Returns an upper estimate of the mentions of items in the boxes of a meta box, by the bytes that one takes at least.
    static func mentions(_ bytes: UnsafeRawBufferPointer, meta: Range<Int>) throws(ImagingError) -> Int {
        guard meta.count >= 4 else { return 0 }
        var count = 0
        try bytes.forEachBox(in: meta.lowerBound + 4..<meta.upperBound) { (box) throws(ImagingError) in
            if bytes.holds("iinf", at: box.kind) {
                count += box.body.count / 20
            } else if bytes.holds("iref", at: box.kind) {
                count += box.body.count / 2
            } else if bytes.holds("iloc", at: box.kind) {
                count += box.body.count / 6
            } else if bytes.holds("iprp", at: box.kind) {
                try bytes.forEachBox(in: box.body) { (box) in
                    if bytes.holds("ipma", at: box.kind) { count += box.body.count / 3 }
                }
            }
        }
        return count
    }

    /// Reads the properties of the picture, and keeps of the auxiliary items those that are alpha.
    private mutating func readProperties(_ alphas: inout [Int: Int]) throws(ImagingError) {
        var all: [ISOBox] = []
        if let ipco = boxes.ipco { try bytes.forEachBox(in: ipco) { all.append($0) } }
        var cell = AVIFProperties()
        var confirmed: Set<Int> = []
        for ipma in boxes.ipma {
            var cursor = ISOCursor(bytes, ipma)
            guard let (version, flags) = cursor.readVersion(), let entries = cursor.read(4) else { continue }
            for _ in 0..<entries {
                guard let item = cursor.read(version == 0 ? 2 : 4), let count = cursor.read(1) else { break }
                var own = AVIFProperties()
                let isPrimary = item == primary
                let isRead = isPrimary || alphas[item] != nil || !cell.hasConfiguration && cells.contains(item)
                for _ in 0..<count {
                    guard let value = cursor.read(flags & 1 == 0 ? 1 : 2) else { break }
                    let index = value & (flags & 1 == 0 ? 0x7F : 0x7FFF)
                    guard isRead, index > 0, index <= all.count else { continue }
                    if isPrimary { properties.read(bytes, all[index - 1]) } else { own.read(bytes, all[index - 1]) }
                }
                if own.isAlpha { confirmed.insert(item) }
                if cells.contains(item), !cell.hasConfiguration { cell = own }
            }
        }
        alphas = alphas.filter { confirmed.contains($0.key) }
        if !properties.hasConfiguration { properties.takeConfiguration(of: cell) }
    }

    /// Compares the places of all items with the length of the file, and reads the headers of the pictures' data.
    private mutating func readLocations(_ needed: Set<Int>, decoded: Set<Int>) {
        var units = 1 << 20
        var cursor = ISOCursor(bytes, boxes.iloc ?? 0..<0)
        guard let version = cursor.readVersion()?.version, let sizes = cursor.read(2),
            let count = cursor.read(version < 2 ? 2 : 4)
        else { return }
        let (offsetSize, lengthSize) = (sizes >> 12, sizes >> 8 & 15)
        let (baseSize, indexSize) = (sizes >> 4 & 15, version == 0 ? 0 : sizes & 15)
        for _ in 0..<count {
            guard let item = cursor.read(version < 2 ? 2 : 4), let method = version == 0 ? 0 : cursor.read(2),
                cursor.skip(2), let base = cursor.read(baseSize), let extents = cursor.read(2)
            else { return }
            extentCount += extents
            // Extents without offset and length would take no bytes of the file, and thousands of them time.
            guard offsetSize + lengthSize + indexSize > 0 else { continue }
            let end = method & 15 == 1 ? boxes.idat?.count ?? 0 : bytes.count
            var total = 0
            var places: [Range<Int>] = []
            for _ in 0..<extents {
                guard cursor.skip(indexSize), let offset = cursor.read(offsetSize), let length = cursor.read(lengthSize)
                else { return }
                let start = base.addingReportingOverflow(offset)
                if length > 0, start.overflow || start.partialValue > end || length > end - start.partialValue {
                    if needed.contains(item) { hasPicture = false } else { hasOthers = false }
                }
                total += min(length, bytes.count)
                let origin = method & 15 == 1 ? boxes.idat?.lowerBound ?? 0 : 0
                guard decoded.contains(item), !start.overflow, start.partialValue <= end, total <= bytes.count else {
                    continue
                }
                let place = origin + start.partialValue
                places.append(place..<min(place + length, bytes.count))
            }
            if decoded.contains(item) { readUnits(places, &units) }
            if extents > 1 { scattered += total }
        }
    }

    /// Reads the headers of an item's AV1 data, which may be in several parts of the file.
    private mutating func readUnits(_ places: [Range<Int>], _ unitsLeft: inout Int) {
        let stream: AV1Stream
        if places.count == 1 {
            stream = AV1Stream(UnsafeRawBufferPointer(rebasing: bytes[places[0]]), most: unitsLeft)
        } else {
            stream = places.flatMap { bytes[$0] }.withUnsafeBytes { AV1Stream($0, most: unitsLeft) }
        }
        unitsLeft -= stream.units
        if unitsLeft <= 0 { hasTooManyUnits = true }
        coded.append(stream)
    }
}
