/// Encodes palette indices as a GIF's picture data, for code sizes that giflib does not write.
enum LZWCodes {
    /// Returns sub-blocks with the empty one at the end. With `clears` false, a full table stays full.
    static func pack(_ indexes: [Int], size: Int, clears: Bool = true) -> [UInt8] {
        var bits = Bits()
        var table: [[Int]: Int] = [:]
        var (width, next) = (size + 1, (1 << size) + 2)
        bits.append(1 << size, width)
        var run: [Int] = []
        func code(_ run: [Int]) -> Int { run.count == 1 ? run[0] : table[run] ?? 0 }
        for index in indexes {
            let longer = run + [index]
            if run.isEmpty || table[longer] != nil {
                run = longer
                continue
            }
            bits.append(code(run), width)
            if next < 4096 {
                table[longer] = next
                next += 1
                // The decoder's table is one entry behind.
                if next > 1 << width, width < 12 { width += 1 }
            } else if clears {
                bits.append(1 << size, width)
                table = [:]
                (width, next) = (size + 1, (1 << size) + 2)
            }
            run = [index]
        }
        if !run.isEmpty { bits.append(code(run), width) }
        if next == 1 << width, width < 12 { width += 1 }
        bits.append((1 << size) + 1, width)
        return blocks(bits.bytes)
    }

    /// Sub-blocks of 255 bytes, with the empty one at the end.
    static func blocks(_ bytes: [UInt8]) -> [UInt8] {
        stride(from: 0, to: bytes.count, by: 255).flatMap { start -> [UInt8] in
            let block = bytes[start..<min(start + 255, bytes.count)]
            return [UInt8(block.count)] + block
        } + [0]
    }

    private struct Bits {
        private var buffer = 0
        private var count = 0
        private var whole: [UInt8] = []

        mutating func append(_ value: Int, _ width: Int) {
            buffer |= value << count
            count += width
            while count >= 8 {
                whole.append(UInt8(buffer & 255))
                buffer >>= 8
                count -= 8
            }
        }

        var bytes: [UInt8] { count > 0 ? whole + [UInt8(buffer & 255)] : whole }
    }
}
