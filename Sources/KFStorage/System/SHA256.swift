import CCrypto

/// A SHA-256 value: 32 bytes.
package struct Digest: Hashable, Sendable {
    let words: (UInt64, UInt64, UInt64, UInt64)

    /// Creates a value from 32 bytes; nil for any other count.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 32 else { return nil }
        func word(_ index: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// Parses 64 lower-case hexadecimal digits; nil for any other text.
    package init?(hex: some StringProtocol) {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in hex.utf8 {
            let nibble: UInt8
            switch digit {
            case 0x30...0x39: nibble = digit - 0x30
            case 0x61...0x66: nibble = digit - 0x57
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
        guard high == nil, let digest = bytes.withUnsafeBytes(Digest.init) else { return nil }
        self = digest
    }

    /// The first 64 bits, big-endian.
    package var prefix: UInt64 { words.0 }

    /// The value as 64 lower-case hexadecimal digits.
    package var hex: String {
        String(unsafeUninitializedCapacity: 64) { buffer in
            for index in 0..<64 { buffer[index] = digit(index) }
            return 64
        }
    }

    /// Returns one of the 64 digits of `hex`, as ASCII.
    @inline(__always)
    func digit(_ index: Int) -> UInt8 {
        let word =
            switch index >> 4 {
            case 0: words.0
            case 1: words.1
            case 2: words.2
            default: words.3
            }
        let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15))) & 15
        return nibble < 10 ? 0x30 + nibble : 0x57 + nibble
    }

    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let ordered = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return withUnsafeBytes(of: ordered, body)
    }

    package var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    package static func == (a: Digest, b: Digest) -> Bool { a.words == b.words }

    package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// An incremental SHA-256 computation by libcrypto, which uses the processor's SHA instructions.
package struct SHA256 {
    private var context = SHA256_CTX()

    package init() { SHA256_Init(&context) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&context, bytes.baseAddress, bytes.count)
    }

    package mutating func update(_ text: String) {
        var text = text
        text.withUTF8 { update(UnsafeRawBufferPointer($0)) }
    }

    /// Ends the computation and returns the digest. The value must not be used afterwards.
    package mutating func finish() -> Digest {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { buffer in
            SHA256_Final(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), &context)
            guard let digest = Digest(UnsafeRawBufferPointer(buffer)) else {
                preconditionFailure("the buffer has 32 bytes")
            }
            return digest
        }
    }

    package static func hash(_ bytes: UnsafeRawBufferPointer) -> Digest {
        var sha = SHA256()
        sha.update(bytes)
        return sha.finish()
    }
}
