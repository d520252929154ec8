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
    /// Whether the picture is a grid of others.
    var isGrid: Bool { !cells.isEmpty }
    /// Whether a cell is in two places of a grid.
    var repeatsCells: Bool { Set(cells).count < cells.count || Set(alphaCells).count < alphaCells.count }
    /// All references of a picture whose colour or alpha is a grid; empty for any other.
    private(set) var references: [AVIFReference] = []
    /// The same for the alpha of a grid whose cells have alpha each, with no grid of them.
    private(set) var alphaReferences: [AVIFReference] = []

    private let bytes: UnsafeRawBufferPointer
    /// The contents of the first box of each kind that is read, and of every ipma.
    private var boxes: [FourCharacters: [Range<Int>]] = [:]
    private var primary = 0
    /// The cells of the grid, by their places; empty for a picture in one piece.
    private var cells: [Int] = []
    private var alphaCells: [Int] = []

    /// - Throws: `corrupt` without a primary item.
    init(
        _ bytes: UnsafeRawBufferPointer, meta: Range<Int>, of format: ImageFormat = .avif
    ) throws(ImagingError) {
        self.bytes = bytes
        let kinds: [FourCharacters] = ["pitm", "iloc", "iref", "idat", "ipco", "iinf"]
        try AVIFItems.forEachBox(bytes, meta) { box in
            guard box.kind == "ipma" || kinds.contains(box.kind) && boxes[box.kind] == nil else { return }
            boxes[box.kind, default: []].append(box.body)
        }
        var cursor = cursor("pitm")
        guard let version = cursor.readVersion()?.version, let primary = cursor.read(version == 0 ? 2 : 4) else {
            throw .corrupt(format, reason: "no primary item")
        }
        self.primary = primary
        cells = try cells(of: primary)
        let pictures = Set(cells + [primary])
        var auxiliaries: [(item: Int, master: Int)] = []
        try forEachReference("auxl") { (item, masters) in
            for master in masters where pictures.contains(master) { auxiliaries.append((item, master)) }
        }
        let confirmed = try readProperties(pictures, auxiliaries: Set(auxiliaries.map(\.item)))
        var alphas: [Int: Int] = [:]
        for (item, master) in auxiliaries where confirmed.contains(item) { alphas[master] = alphas[master] ?? item }
        if let alpha = alphas[primary] {
            alphaCells = try cells(of: alpha)
        } else {
            let all = cells.compactMap { alphas[$0] }
            if all.count == cells.count { alphaCells = all }
        }
        hasAlpha = alphas[primary] != nil || !alphaCells.isEmpty
        var described: [Int] = []
        try forEachReference("cdsc") { (item, others) in
            if others.contains(primary) { described.append(item) }
        }
        if !cells.isEmpty || !alphaCells.isEmpty { try refer(alpha: alphas[primary], described: described) }
        let alphaParts = alphaCells.isEmpty ? [alphas[primary]].compactMap(\.self) : alphaCells
        readLocations(
            pictures.union(alphas.values).union(alphaCells).union(described),
            decoded: properties.isAV1 ? Set((cells.isEmpty ? [primary] : cells) + alphaParts) : [])
    }

    /// The kind of the primary item, such as `hvc1` or `grid`; nil when the boxes do not state it.
    var kind: FourCharacters? {
        var cursor = cursor("iinf")
        var found: FourCharacters?
        guard let version = cursor.readVersion()?.version, cursor.skip(version == 0 ? 2 : 4) else { return nil }
        // The search ends at a broken box.
        _ = try? bytes.forEachBox(in: cursor.position..<cursor.end) { box in
            var cursor = ISOCursor(bytes, box.body)
            guard found == nil, box.kind == "infe", let version = cursor.readVersion()?.version, version >= 2,
                cursor.read(version == 2 ? 2 : 4) == primary, cursor.skip(2)
            else { return }
            found = bytes.name(at: cursor.position)
        }
        return found
    }

    /// The items that an item is made of, in their order.
    private func cells(of item: Int) throws(ImagingError) -> [Int] {
        var all: [Int] = []
        try forEachReference("dimg") { (other, cells) in
            if other == item { all += cells }
        }
        return all
    }

    private mutating func refer(alpha: Int?, described: [Int]) throws(ImagingError) {
        func grid(_ item: Int, _ cells: [Int]) -> [AVIFReference] {
            cells.isEmpty ? [] : [AVIFReference(kind: "dimg", item: item, others: cells)]
        }
        references = grid(primary, cells)
        if let alpha {
            references += grid(alpha, alphaCells) + [AVIFReference(kind: "auxl", item: alpha, others: [primary])]
            try forEachReference("prem") { (item, others) in
                guard item == primary, others.contains(alpha) else { return }
                references.append(AVIFReference(kind: "prem", item: primary, others: [alpha]))
            }
        } else {
            alphaReferences = grid(primary, alphaCells)
        }
        references += described.map { AVIFReference(kind: "cdsc", item: $0, others: [primary]) }
    }

    /// Calls `visit` with each box of a meta box; ipco and ipma only count inside iprp, and other boxes only outside.
    private static func forEachBox(
        _ bytes: UnsafeRawBufferPointer, _ meta: Range<Int>, _ visit: (ISOBox) -> Void
    ) throws(ImagingError) {
        guard meta.count >= 4 else { return }
        func isProperty(_ box: ISOBox) -> Bool { box.kind == "ipco" || box.kind == "ipma" }
        try bytes.forEachBox(in: meta.lowerBound + 4..<meta.upperBound) { (box) throws(ImagingError) in
            if !isProperty(box) { visit(box) }
            guard box.kind == "iprp" else { return }
            try bytes.forEachBox(in: box.body) { if isProperty($0) { visit($0) } }
        }
    }

    /// A cursor at the first box of a kind; at no bytes if there is none.
    private func cursor(_ kind: FourCharacters) -> ISOCursor { ISOCursor(bytes, boxes[kind]?.first ?? 0..<0) }

    /// Calls `visit` with each reference of a kind: the item that refers, and the items that it refers to.
    private func forEachReference(_ kind: FourCharacters, _ visit: (Int, [Int]) -> Void) throws(ImagingError) {
        var cursor = cursor("iref")
        guard let version = cursor.readVersion()?.version else { return }
        let size = version == 0 ? 2 : 4
        try bytes.forEachBox(in: cursor.position..<cursor.end) { (box) in
            guard box.kind == kind else { return }
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

    /// Returns an upper estimate of the mentions of items in the boxes of a meta box, by the bytes that one takes at least.
    static func mentions(_ bytes: UnsafeRawBufferPointer, meta: Range<Int>) throws(ImagingError) -> Int {
        let bytesOfMention: [FourCharacters: Int] = ["iinf": 20, "iref": 2, "iloc": 6, "ipma": 3]
        var count = 0
        try forEachBox(bytes, meta) { box in
            if let size = bytesOfMention[box.kind] { count += box.body.count / size }
        }
        return count
    }

    /// Reads the properties of the picture. Returns those of the auxiliary items that are alpha.
    private mutating func readProperties(
        _ pictures: Set<Int>, auxiliaries: Set<Int>
    ) throws(ImagingError) -> Set<Int> {
        var all: [ISOBox] = []
        if let ipco = boxes["ipco"]?.first { try bytes.forEachBox(in: ipco) { all.append($0) } }
        var cell = AVIFProperties()
        var confirmed: Set<Int> = []
        for ipma in boxes["ipma"] ?? [] {
            var cursor = ISOCursor(bytes, ipma)
            guard let (version, flags) = cursor.readVersion(), let entries = cursor.read(4) else { continue }
            for _ in 0..<entries {
                guard let item = cursor.read(version == 0 ? 2 : 4), let count = cursor.read(1) else { break }
                var own = AVIFProperties()
                let isPrimary = item == primary
                let isCell = !cell.hasConfiguration && !isPrimary && pictures.contains(item)
                let isRead = isPrimary || isCell || auxiliaries.contains(item)
                for _ in 0..<count {
                    guard let value = cursor.read(flags & 1 == 0 ? 1 : 2) else { break }
                    let index = value & (flags & 1 == 0 ? 0x7F : 0x7FFF)
                    guard isRead, index > 0, index <= all.count else { continue }
                    if isPrimary { properties.read(bytes, all[index - 1]) } else { own.read(bytes, all[index - 1]) }
                }
                if own.isAlpha == true { confirmed.insert(item) }
                if isCell { cell = own }
            }
        }
        if !properties.hasConfiguration { properties.takeConfiguration(of: cell) }
        return confirmed
    }

    /// Compares the places of all items with the length of the file, and reads the headers of the pictures' data.
    private mutating func readLocations(_ needed: Set<Int>, decoded: Set<Int>) {
        var (units, unread) = (1 << 20, decoded)
        let idat = boxes["idat"]?.first ?? 0..<0
        var cursor = cursor("iloc")
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
            let (origin, end) = method & 15 == 1 ? (idat.lowerBound, idat.count) : (0, bytes.count)
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
                guard decoded.contains(item), !start.overflow, start.partialValue <= end, total <= bytes.count else {
                    continue
                }
                let place = origin + start.partialValue
                places.append(place..<place + min(length, bytes.count - place))
            }
            if unread.remove(item) != nil { readUnits(places, &units) }
            if extents > 1 { scattered += total }
        }
    }

    /// Reads the headers of an item's AV1 data, which may be in several parts of the file.
    private mutating func readUnits(_ places: [Range<Int>], _ unitsLeft: inout Int) {
        // Items may share their bytes, so that copies count too: a page like the header of a unit.
        if places.count > 1 { unitsLeft -= places.reduce(0) { $0 + $1.count } >> 12 }
        guard unitsLeft > 0 else { return hasTooManyUnits = true }
        let stream: AV1Stream
        if places.count == 1 {
            stream = AV1Stream(bytes.part(places[0]), most: unitsLeft)
        } else {
            stream = places.flatMap { bytes[$0] }.withUnsafeBytes { AV1Stream($0, most: unitsLeft) }
        }
        unitsLeft -= stream.units
        if unitsLeft <= 0 { hasTooManyUnits = true }
        coded.append(stream)
    }
}
