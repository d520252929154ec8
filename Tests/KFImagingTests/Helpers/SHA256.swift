/// A plain, slow SHA-256, for comparing pixels with the lists of the corpora.
enum SHA256 {
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        var state: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        var message = bytes + [0x80]
        message += [UInt8](repeating: 0, count: (120 - message.count % 64) % 64)
        message += withUnsafeBytes(of: UInt64(bytes.count * 8).bigEndian) { Array($0) }
        var schedule = [UInt32](repeating: 0, count: 64)
        message.withUnsafeBytes { block in
            for start in stride(from: 0, to: block.count, by: 64) {
                for i in 0..<16 {
                    schedule[i] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: start + 4 * i, as: UInt32.self))
                }
                for i in 16..<64 {
                    let a = turn(schedule[i - 15], 7) ^ turn(schedule[i - 15], 18) ^ schedule[i - 15] >> 3
                    let b = turn(schedule[i - 2], 17) ^ turn(schedule[i - 2], 19) ^ schedule[i - 2] >> 10
                    schedule[i] = schedule[i - 16] &+ a &+ schedule[i - 7] &+ b
                }
                compress(&state, schedule)
            }
        }
        return state.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    private static func turn(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static func compress(_ state: inout [UInt32], _ schedule: [UInt32]) {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for i in 0..<64 {
            let choice = e & f ^ ~e & g
            let first = h &+ (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) &+ choice &+ constants[i] &+ schedule[i]
            let second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) &+ (a & b ^ a & c ^ b & c)
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        for (i, word) in [a, b, c, d, e, f, g, h].enumerated() { state[i] &+= word }
    }

    /// The fractions of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = {
        var primes: [UInt64] = []
        var candidate: UInt64 = 2
        while primes.count < 64 {
            if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { prime in
            // The largest root with root³ ≤ prime · 2⁹⁶, found bit by bit.
            var root: UInt64 = 0
            for bit in (0..<36).reversed() {
                let trial = root | 1 << UInt64(bit)
                let square = trial.multipliedFullWidth(by: trial)
                let low = square.low.multipliedFullWidth(by: trial)
                let high = square.high * trial + low.high
                if high < prime << 32 || high == prime << 32 && low.low == 0 { root = trial }
            }
            return UInt32(truncatingIfNeeded: root)
        }
    }()
}
