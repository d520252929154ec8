import Glibc

/// Bytes for tests of large bodies. This module is optimised; the same loops in a debug build take seconds a megabyte.
package enum PatternedBytes {
    /// Bytes whose halves, and whose neighbouring blocks, differ.
    package static func make(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
    }

    package static func areEqual(_ one: [UInt8], _ other: ArraySlice<UInt8>) -> Bool {
        one.withUnsafeBytes { areEqual($0, other) }
    }

    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool { areEqual(one, other[...]) }

    package static func areEqual(_ one: UnsafeRawBufferPointer, _ other: ArraySlice<UInt8>) -> Bool {
        other.withUnsafeBytes { other in
            guard one.count == other.count, let first = one.baseAddress, let second = other.baseAddress else {
                return one.count == other.count
            }
            return memcmp(first, second, one.count) == 0
        }
    }
}
