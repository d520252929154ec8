/// Finds where the coded data of a scan ends. Between that place and the next marker any bytes may stand, which decoders
/// skip.
///
/// The codes are read and not decoded. Of a progressive picture's coefficients only those that are not 0 are noted,
/// because the length of a correction depends on them.
struct JPEGScanEnds {
    private struct Component {
        var identifier: UInt8
        var across, down: Int
        /// The size in blocks, of the component alone and with the padding of whole MCUs.
        var blocks: PixelSize
        var padded: PixelSize
        /// A bit for each coefficient of each block, of a progressive picture.
        var isSet: [UInt64] = []
    }

    /// The part of a scan header that says what its codes mean.
    private struct Scan {
        var components: [(index: Int, dc: Int, ac: Int)]
        var band: ClosedRange<Int>
        var isRefining: Bool
    }

    private let bytes: UnsafeRawBufferPointer
    private var isProgressive = false
    private var components: [Component] = []
    private var units = PixelSize(width: 0, height: 0)
    private var interval = 0
    /// The tables of the first coefficients, then those of the others, as defined and as made for the first scan that
    /// needs them: a file can define very many.
    private var definitions = [UnsafeRawBufferPointer?](repeating: nil, count: 8)
    private var tables = [JPEGCodes?](repeating: nil, count: 8)
    private var scan: Scan?
    private var scans = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Takes note of a frame, tables, the interval of restarts or the header of a scan.
    mutating func read(_ marker: UInt8, _ body: UnsafeRawBufferPointer) {
        switch marker {
        case 0xC4: readTables(body)
        case 0xC0...0xC2 where units.width == 0: readFrame(body, isProgressive: marker == 0xC2)
        case 0xDD: interval = body.bigEndian16(at: 0) ?? 0
        case 0xDA: scan = readScan(body)
        // A second frame, arithmetic codes and lossless pictures.
        case 0xC0...0xCF: components = []
        default: break
        }
    }

    private mutating func readFrame(_ body: UnsafeRawBufferPointer, isProgressive: Bool) {
        self.isProgressive = isProgressive
        components = []
        guard let height = body.bigEndian16(at: 1), let width = body.bigEndian16(at: 3), width > 0, height > 0,
            body.count >= 6, body.count >= 6 + 3 * Int(body[5])
        else { return }
        var (widest, tallest, blocks) = (1, 1, 0)
        for index in 0..<Int(body[5]) {
            let (across, down) = (Int(body[7 + 3 * index] >> 4), Int(body[7 + 3 * index] & 15))
            guard (1...4).contains(across), (1...4).contains(down) else { return }
            (widest, tallest, blocks) = (max(widest, across), max(tallest, down), blocks + across * down)
        }
        units = PixelSize(width: ceiling(width, 8 * widest), height: ceiling(height, 8 * tallest))
        // As many as a picture of the usual limit has.
        guard units.width * units.height * blocks <= 1 << 23 else { return }
        for index in 0..<Int(body[5]) {
            let (across, down) = (Int(body[7 + 3 * index] >> 4), Int(body[7 + 3 * index] & 15))
            let padded = PixelSize(width: units.width * across, height: units.height * down)
            let size = PixelSize(
                width: ceiling(ceiling(width * across, widest), 8), height: ceiling(ceiling(height * down, tallest), 8))
            let isSet = [UInt64](repeating: 0, count: isProgressive ? padded.width * padded.height : 0)
            components.append(
                Component(
                    identifier: body[6 + 3 * index], across: across, down: down, blocks: size, padded: padded,
                    isSet: isSet))
        }
    }

    private func ceiling(_ number: Int, _ divisor: Int) -> Int { (number + divisor - 1) / divisor }

    private mutating func readTables(_ body: UnsafeRawBufferPointer) {
        var position = 0
        while position + 17 <= body.count {
            let place = Int(body[position] >> 4 & 1) * 4 + Int(body[position] & 3)
            let count = (1...16).reduce(0) { $0 + Int(body[position + $1]) }
            guard count <= 256, position + 17 + count <= body.count else { return }
            (definitions[place], tables[place]) = (body.part(position + 1..<position + 17 + count), nil)
            position += 17 + count
        }
    }

    private func readScan(_ body: UnsafeRawBufferPointer) -> Scan? {
        guard let count = body.first.map({ Int($0) }), count > 0, body.count >= 4 + 2 * count else { return nil }
        var chosen: [(Int, Int, Int)] = []
        for index in 0..<count {
            guard let component = components.firstIndex(where: { $0.identifier == body[1 + 2 * index] }) else {
                return nil
            }
            chosen.append((component, Int(body[2 + 2 * index] >> 4 & 3), 4 + Int(body[2 + 2 * index] & 3)))
        }
        let (first, last) = (Int(body[1 + 2 * count]), Int(body[2 + 2 * count]))
        guard isProgressive else { return Scan(components: chosen, band: 0...63, isRefining: false) }
        guard first <= last, last < 64, first > 0 ? count == 1 : last == 0 else { return nil }
        return Scan(components: chosen, band: first...last, isRefining: body[3 + 2 * count] >> 4 > 0)
    }

    /// Returns the parts of the data of the last scan that decoders read: all codes, with the restart markers between
    /// them. Nil where that is not known: for arithmetic codes, and for data that is damaged.
    ///
    /// - Throws: `timeLimit`.
    mutating func parts(of data: Range<Int>) throws(ImagingError) -> [Range<Int>]? {
        scans += 1
        // More are not decoded by default, and each is a pass over the picture.
        guard let scan, scans <= DecodeLimits().maxScans else { return nil }
        for place in scan.components.flatMap({ [$0.dc, $0.ac] }) where tables[place] == nil {
            tables[place] = definitions[place].flatMap { JPEGCodes($0) }
        }
        let isAlone = scan.components.count == 1
        let size = isAlone ? components[scan.components[0].index].blocks : units
        var (parts, start): ([Range<Int>], Int) = ([], data.lowerBound)
        var unit = 0
        while unit < size.width * size.height {
            let count = interval == 0 ? size.width * size.height - unit : interval
            var reader = JPEGCodeReader(bytes, start..<data.upperBound)
            for index in unit..<min(unit + count, size.width * size.height) {
                if index % 4096 == 0 { try ImageCodecs.checkTime() }
                let isRead = isAlone ? read(scan, index, &reader) : readUnit(scan, index, &reader)
                if !isRead { return nil }
            }
            unit += count
            parts.append(start..<reader.end)
            guard unit < size.width * size.height else { break }
            guard let restart = reader.restart else { return nil }
            // The marker is two bytes.
            parts.append(restart..<restart + 2)
            start = restart + 2
        }
        return parts
    }

    /// Reads a block of a scan with one component.
    private mutating func read(_ scan: Scan, _ index: Int, _ reader: inout JPEGCodeReader) -> Bool {
        let chosen = scan.components[0]
        let width = components[chosen.index].blocks.width
        return readBlock(scan, chosen, index / width * components[chosen.index].padded.width + index % width, &reader)
    }

    /// Reads the blocks of an MCU.
    private mutating func readUnit(_ scan: Scan, _ index: Int, _ reader: inout JPEGCodeReader) -> Bool {
        for chosen in scan.components {
            let (across, down) = (components[chosen.index].across, components[chosen.index].down)
            let width = components[chosen.index].padded.width
            let corner = index / units.width * down * width + index % units.width * across
            for row in 0..<down {
                for column in 0..<across {
                    guard readBlock(scan, chosen, corner + row * width + column, &reader) else { return false }
                }
            }
        }
        return true
    }

    private mutating func readBlock(
        _ scan: Scan, _ chosen: (index: Int, dc: Int, ac: Int), _ block: Int, _ reader: inout JPEGCodeReader
    ) -> Bool {
        if scan.band.lowerBound == 0 {
            if scan.isRefining { return reader.skip(1) }
            guard let size = tables[chosen.dc].flatMap({ reader.symbol($0) }), reader.skip(size) else { return false }
        }
        guard scan.band.upperBound > 0 else { return true }
        guard let codes = tables[chosen.ac] else { return false }
        if !isProgressive { return reader.skipBlock(codes) }
        return scan.isRefining
            ? reader.refine(codes, scan.band, &components[chosen.index].isSet[block])
            : reader.readBand(codes, scan.band, &components[chosen.index].isSet[block])
    }
}
