/// SHA-256 and its HMAC, written for the tests so that no verifier shares code with what it verifies. AWS's vectors prove it.
package enum PlainSHA256 {
    private static let constants: [UInt32] = primes(64).map { fraction(of: $0, root: 3) }
    private static let start: [UInt32] = primes(8).map { fraction(of: $0, root: 2) }

    package static func hash(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
        bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (message.count * 8) >> ($0 * 8)) }
        var state = start
        for block in stride(from: 0, to: bytes.count, by: 64) {
            var words = (0..<16).map { word in
                (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[block + word * 4 + $1]) }
            }
            for at in 16..<64 {
                let (old, late) = (words[at - 15], words[at - 2])
                let first = turned(old, 7) ^ turned(old, 18) ^ old >> 3
                let second = turned(late, 17) ^ turned(late, 19) ^ late >> 10
                words.append(words[at - 16] &+ first &+ words[at - 7] &+ second)
            }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            var (e, f, g, h) = (state[4], state[5], state[6], state[7])
            for at in 0..<64 {
                let choice = (e & f) ^ (~e & g)
                let one = h &+ (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) &+ choice &+ constants[at] &+ words[at]
                let majority = (a & b) ^ (a & c) ^ (b & c)
                let two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) &+ majority
                (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ two)
            }
            state = zip(state, [a, b, c, d, e, f, g, h]).map { $0 &+ $1 }
        }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? hash(key) : key
        let padded = short + [UInt8](repeating: 0, count: 64 - short.count)
        return hash(padded.map { $0 ^ 0x5c } + hash(padded.map { $0 ^ 0x36 } + message))
    }

    package static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static func primes(_ count: Int) -> [UInt64] {
        var found: [UInt64] = []
        var next: UInt64 = 2
        while found.count < count {
            if found.allSatisfy({ next % $0 != 0 }) { found.append(next) }
            next += 1
        }
        return found
    }

    /// Returns the first 32 bits of the fraction of a square root or cube root.
    private static func fraction(of number: UInt64, root: Int) -> UInt32 {
        // The root in units of 2^-32: its power is the number in units of 2^-64 or 2^-96.
        let target = UInt128(number) << UInt128(32 * root)
        var result: UInt128 = 0
        for bit in (0..<40).reversed() {
            let candidate = result | 1 << UInt128(bit)
            let power = root == 2 ? candidate * candidate : candidate * candidate * candidate
            if power <= target { result = candidate }
        }
        return UInt32(truncatingIfNeeded: result)
    }
}
