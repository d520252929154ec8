import Glibc

/// Bounds-checked reads of untrusted bytes; nil for an offset outside.
extension UnsafeRawBufferPointer {
    func bigEndian16(at offset: Int) -> Int? {
        guard offset >= 0, offset <= count - 2 else { return nil }
        return Int(self[offset]) << 8 | Int(self[offset + 1])
    }

    func littleEndian16(at offset: Int) -> Int? {
        guard offset >= 0, offset <= count - 2 else { return nil }
        return Int(self[offset + 1]) << 8 | Int(self[offset])
    }

    func littleEndian24(at offset: Int) -> Int? {
        guard offset >= 0, offset <= count - 3 else { return nil }
        return Int(self[offset + 2]) << 16 | Int(self[offset + 1]) << 8 | Int(self[offset])
    }

    func bigEndian32(at offset: Int) -> Int? {
        guard offset >= 0, offset <= count - 4 else { return nil }
        return Int(UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }

    func littleEndian32(at offset: Int) -> Int? {
        guard offset >= 0, offset <= count - 4 else { return nil }
        return Int(UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }

    /// A number of 1, 2, 4 or 8 bytes; nil for one outside of the bytes, and for one that does not fit.
    func tiffNumber(_ size: Int, at offset: Int, isLittle: Bool) -> Int? {
        switch size {
        case 1: return offset >= 0 && offset < count ? Int(self[offset]) : nil
        case 2: return isLittle ? littleEndian16(at: offset) : bigEndian16(at: offset)
        case 4: return isLittle ? littleEndian32(at: offset) : bigEndian32(at: offset)
        default:
            guard isLittle else { return bigEndian64(at: offset) }
            guard let low = littleEndian32(at: offset), let high = littleEndian32(at: offset + 4), high < 1 << 31 else {
                return nil
            }
            return high << 32 | low
        }
    }

    /// The name of a chunk or box at the offset.
    func name(at offset: Int) -> FourCharacters? {
        guard offset >= 0, offset <= count - 4 else { return nil }
        return FourCharacters(loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// The bytes of a range, which must be inside.
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }

    /// Whether the bytes at the offset equal the text.
    func holds(_ text: StaticString, at offset: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard offset >= 0, offset <= count - length else { return false }
        for index in 0..<length where self[offset + index] != text.utf8Start[index] { return false }
        return true
    }

    func contains(_ text: StaticString) -> Bool { self[...].end(of: text) != nil }

    func holds(_ text: String, at offset: Int) -> Bool {
        guard offset >= 0, offset <= count else { return false }
        return self[offset...].starts(with: text.utf8)
    }
}

/// The bytes of a number, the highest first.
func bigEndian(_ number: Int, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
}

/// The four characters that name a chunk or box.
struct FourCharacters: ExpressibleByStringLiteral, Hashable {
    private let word: UInt32

    init(_ word: UInt32) { self.word = word }

    @inline(__always)
    init(stringLiteral name: StaticString) {
        word = UnsafeRawPointer(name.utf8Start).loadUnaligned(as: UInt32.self)
    }
}

extension FourCharacters: CustomStringConvertible {
    /// The characters, with a question mark for each that is not printable ASCII.
    var description: String {
        withUnsafeBytes(of: word) { bytes in
            String(decoding: bytes.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
        }
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes in place; `withUnsafeBytes` does not keep the type of an error.
    func withRaw<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Whether the bytes begin with a text, ignoring the case of ASCII letters; `text` must be in lower case.
    func starts(withIgnoringCase text: String) -> Bool {
        guard count >= text.utf8.count else { return false }
        return zip(self, text.utf8).allSatisfy { ($0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0) == $1 }
    }

    /// Returns the index behind the first occurrence of `text`.
    func end(of text: StaticString) -> Int? {
        end(of: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Returns the index behind the first occurrence of some bytes, of which there must be one at least.
    func end(of wanted: some RandomAccessCollection<UInt8>) -> Int? {
        guard let bytes = base.baseAddress, let first = wanted.first else { return nil }
        var position = startIndex
        while let found = memchr(bytes + position, Int32(clamping: first), endIndex - position) {
            position = UnsafeRawPointer(found) - bytes
            let end = position + wanted.count
            if end > endIndex { return nil }
            if base[position..<end].elementsEqual(wanted) { return end }
            position += 1
        }
        return nil
    }
}
