/// A table of Huffman codes.
struct JPEGCodes {
    /// The symbol and the length of the code with which 16 bits begin; 0 for none.
    private let entries: [UInt16]

    /// Takes 16 numbers of codes by their length, and their symbols.
    init?(_ body: UnsafeRawBufferPointer) {
        var entries = [UInt16](repeating: 0, count: 1 << 16)
        var (code, index) = (0, 16)
        for length in 1...16 {
            for _ in 0..<Int(body[length - 1]) {
                guard code + 1 << (16 - length) <= 1 << 16 else { return nil }
                let entry = UInt16(clamping: length) << 8 | UInt16(body[index])
                for place in code..<code + 1 << (16 - length) { entries[place] = entry }
                code += 1 << (16 - length)
                index += 1
            }
        }
        self.entries = entries
    }

    func entry(_ bits: UInt64) -> UInt16 { entries[Int(bits & 0xFFFF)] }
}

/// Reads the codes of a scan, to find where they end.
struct JPEGCodeReader {
    private let bytes: UnsafeRawBufferPointer
    private let range: Range<Int>
    private var position: Int
    /// The bits that are read ahead are the lowest ones.
    private var bits: UInt64 = 0
    private var count = 0
    /// The number of blocks that a code has declared to be 0 in the rest of their band.
    private var emptyBlocks = 0

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        (self.bytes, self.range, position) = (bytes, range, range.lowerBound)
    }

    /// The offset behind the last byte of which a bit was read.
    var end: Int {
        var end = position
        for _ in 0..<count / 8 {
            // FF is followed by a 0.
            end -= end - 2 >= range.lowerBound && bytes[end - 2] == 0xFF && bytes[end - 1] == 0 ? 2 : 1
        }
        return end
    }

    /// The offset of the next restart marker.
    var restart: Int? {
        var place = end
        while place + 1 < range.upperBound {
            if bytes[place] == 0xFF, (0xD0...0xD7).contains(bytes[place + 1]) { return place }
            place += 1
        }
        return nil
    }

    private mutating func fill() {
        while count <= 48, position < range.upperBound {
            let byte = bytes[position]
            if byte == 0xFF {
                guard position + 1 < range.upperBound, bytes[position + 1] == 0 else { return }
                position += 1
            }
            position += 1
            bits = bits << 8 | UInt64(byte)
            count += 8
        }
    }

    /// Skips up to 16 bits; false when there are fewer.
    mutating func skip(_ wanted: Int) -> Bool {
        if count < wanted { fill() }
        count -= wanted
        return count >= 0
    }

    private mutating func number(_ width: Int) -> Int? {
        guard skip(width) else { return nil }
        return Int(bits >> UInt64(count) & (1 << UInt64(width) - 1))
    }

    /// The symbol of the next code; nil for none.
    mutating func symbol(_ codes: JPEGCodes) -> Int? {
        if count < 16 { fill() }
        let entry = codes.entry(count >= 16 ? bits >> UInt64(count - 16) : bits << UInt64(16 - count))
        let length = Int(entry >> 8)
        guard length > 0, skip(length) else { return nil }
        return Int(entry & 0xFF)
    }

    /// Skips the coefficients of a block behind the first one.
    mutating func skipBlock(_ codes: JPEGCodes) -> Bool {
        var place = 1
        while place < 64 {
            guard let symbol = symbol(codes) else { return false }
            let (zeros, size) = (symbol >> 4, symbol & 15)
            if size == 0, zeros < 15 { return true }
            guard skip(size) else { return false }
            place += zeros + 1
        }
        return true
    }

    /// Reads the first bits of a band of coefficients, and notes those that are not 0.
    mutating func readBand(_ codes: JPEGCodes, _ band: ClosedRange<Int>, _ isSet: inout UInt64) -> Bool {
        if emptyBlocks > 0 {
            emptyBlocks -= 1
            return true
        }
        var place = band.lowerBound
        while place <= band.upperBound {
            guard let symbol = symbol(codes) else { return false }
            let (zeros, size) = (symbol >> 4, symbol & 15)
            if size == 0, zeros < 15 {
                guard let more = number(zeros) else { return false }
                emptyBlocks = 1 << zeros + more - 1
                return true
            }
            place += zeros
            if size > 0 {
                guard skip(size) else { return false }
                if place < 64 { isSet |= 1 << UInt64(place) }
            }
            place += 1
        }
        return true
    }

    /// Reads another bit of the coefficients of a band: one for each that is not 0, and codes for those that become so.
    mutating func refine(_ codes: JPEGCodes, _ band: ClosedRange<Int>, _ isSet: inout UInt64) -> Bool {
        var place = band.lowerBound
        while emptyBlocks == 0, place <= band.upperBound {
            guard let symbol = symbol(codes) else { return false }
            var zeros = symbol >> 4
            let size = symbol & 15
            if size == 0, zeros < 15 {
                guard let more = number(zeros) else { return false }
                emptyBlocks = 1 << zeros + more
                break
            }
            // The sign.
            if size > 0, !skip(1) { return false }
            while place <= band.upperBound {
                if isSet >> UInt64(place) & 1 == 1 {
                    guard skip(1) else { return false }
                } else {
                    if zeros == 0 { break }
                    zeros -= 1
                }
                place += 1
            }
            if size > 0, place < 64 { isSet |= 1 << UInt64(place) }
            place += 1
        }
        guard emptyBlocks > 0 else { return true }
        emptyBlocks -= 1
        let rest = band.upperBound < 63 ? UInt64(1) << UInt64(band.upperBound + 1) - 1 : .max
        guard place <= band.upperBound else { return true }
        return skipMany((isSet & rest & ~(1 << UInt64(place) - 1)).nonzeroBitCount)
    }

    private mutating func skipMany(_ wanted: Int) -> Bool {
        var left = wanted
        while left > 0 {
            guard skip(min(left, 16)) else { return false }
            left -= min(left, 16)
        }
        return true
    }
}
