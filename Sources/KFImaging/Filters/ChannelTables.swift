/// A change that does the same to every sample of a channel, whatever stands beside it: a table for each channel.
struct ChannelTables {
    /// For red, green, blue and alpha; a grey pixel goes by the first and the last.
    private var tables: [[UInt8]]

    /// The changes are given values from 0 to 1, and what they return is rounded to the nearest step and clamped.
    init(colors: [(Double) -> Double], alpha: @escaping (Double) -> Double = { $0 }) {
        tables = (colors + [alpha]).map { change in
            (0...255).map { ChannelTables.sample(change(Double($0) / 255)) }
        }
    }

    static func sample(_ value: Double) -> UInt8 {
        UInt8(max(0, min(value, 1)) * 255 + 0.5)
    }

    /// Applies them to a bitmap of 8 bits, grey only where the tables of the colours are alike.
    func apply(to bitmap: Bitmap) throws(ImagingError) -> Bitmap {
        let (channels, width) = (bitmap.format.channelCount, bitmap.width)
        let order = bitmap.format.isGray ? [0, 3] : [0, 1, 2, 3]
        let table = order.prefix(channels).flatMap { tables[$0] }
        return try bitmap.changingRows { _, row in
            table.withUnsafeBufferPointer { table in
                switch channels {
                case 1:
                    for x in 0..<width { row[x] = table[Int(row[x])] }
                case 2:
                    for x in stride(from: 0, to: 2 * width, by: 2) {
                        row[x] = table[Int(row[x])]
                        row[x + 1] = table[256 + Int(row[x + 1])]
                    }
                case 3:
                    for x in stride(from: 0, to: 3 * width, by: 3) {
                        row[x] = table[Int(row[x])]
                        row[x + 1] = table[256 + Int(row[x + 1])]
                        row[x + 2] = table[512 + Int(row[x + 2])]
                    }
                default:
                    for x in stride(from: 0, to: 4 * width, by: 4) {
                        row[x] = table[Int(row[x])]
                        row[x + 1] = table[256 + Int(row[x + 1])]
                        row[x + 2] = table[512 + Int(row[x + 2])]
                        row[x + 3] = table[768 + Int(row[x + 3])]
                    }
                }
            }
        }
    }
}
