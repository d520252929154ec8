import CCrypto
import KFSystem

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
        let digits = Array(hex.utf8)
        guard digits.count == 64, digits.allSatisfy(\.isLowercaseHex) else { return nil }
        func word(_ index: Int) -> UInt64 {
            digits[index * 16..<index * 16 + 16].reduce(0) { $0 << 4 | UInt64($1 < 0x3a ? $1 - 0x30 : $1 - 0x57) }
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// The first 64 bits, big-endian.
    package var prefix: UInt64 { words.0 }

    /// The value as 64 lower-case hexadecimal digits.
    package var hex: String {
        String(unsafeUninitializedCapacity: 64) { buffer in
            if let start = buffer.baseAddress { write(hex: start) }
            return 64
        }
    }

    /// Writes the 64 digits of `hex` as ASCII. Many names of files are made of them.
    func write(hex target: UnsafeMutableRawPointer) {
        func write(_ word: UInt64, at place: Int) {
            target.storeBytes(of: Self.digits(word >> 32), toByteOffset: place, as: UInt64.self)
            target.storeBytes(of: Self.digits(word & 0xffff_ffff), toByteOffset: place + 8, as: UInt64.self)
        }
        write(words.0, at: 0)
        write(words.1, at: 16)
        write(words.2, at: 32)
        write(words.3, at: 48)
    }

    /// Returns the eight digits of 32 bits, in the order of memory. All of them are computed at once, each in a byte.
    private static func digits(_ half: UInt64) -> UInt64 {
        var nibbles = (half | half << 16) & 0x0000_ffff_0000_ffff
        nibbles = (nibbles | nibbles << 8) & 0x00ff_00ff_00ff_00ff
        nibbles = (nibbles | nibbles << 4) & 0x0f0f_0f0f_0f0f_0f0f
        // 1 for each digit from a to f, which is 0x27 after 0x30 + 10.
        let letters = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        return (nibbles + 0x3030_3030_3030_3030 + letters * 0x27).bigEndian
    }

    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let ordered = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return withUnsafeBytes(of: ordered, body)
    }

    package var bytes: [UInt8] { withBytes { Array($0) } }

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
