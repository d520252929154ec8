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
    /// An upper estimate of the mentions of items in all boxes.
    private(set) var mentionCount = 0
    private(set) var extentCount = 0
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
        readLocations(needed)
        try countMentions()
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

    /// Adds the mentions in the list of items and in the references between them.
    private mutating func countMentions() throws(ImagingError) {
        var list = ISOCursor(bytes, boxes.iinf ?? 0..<0)
        if let version = list.readVersion()?.version, list.skip(AVIFItems.identifierSize(version)) {
            try bytes.forEachBox(in: list.position..<list.end) { _ in mentionCount += 1 }
        }
        var references = ISOCursor(bytes, boxes.iref ?? 0..<0)
        if let version = references.readVersion()?.version {
            mentionCount += references.left / AVIFItems.identifierSize(version)
        }
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
                mentionCount += 1
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

    /// Compares the places of all items with the length of the file.
    private mutating func readLocations(_ needed: Set<Int>) {
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
            mentionCount += 1
            extentCount += extents
            // Extents without offset and length would take no bytes of the file, and thousands of them time.
            guard offsetSize + lengthSize + indexSize > 0 else { continue }
            let end = method & 15 == 1 ? boxes.idat?.count ?? 0 : bytes.count
            var total = 0
            for _ in 0..<extents {
                guard cursor.skip(indexSize), let offset = cursor.read(offsetSize), let length = cursor.read(lengthSize)
                else { return }
                let start = base.addingReportingOverflow(offset)
                if length > 0, start.overflow || start.partialValue > end || length > end - start.partialValue {
                    if needed.contains(item) { hasPicture = false } else { hasOthers = false }
                }
                total += min(length, bytes.count)
            }
            if extents > 1 { scattered += total }
        }
    }
}
