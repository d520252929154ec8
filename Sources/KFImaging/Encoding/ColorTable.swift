/// Up to 256 different colours, numbered in the order of their appearance.
struct ColorTable {
    private(set) var colors: [UInt32] = []
    private let limit: Int
    /// Open addressing; a slot holds a colour's number plus one.
    private var slots = [UInt16](repeating: 0, count: 1024)

    init(limit: Int = 256) {
        self.limit = limit
    }

    /// The colour's number, a new one if need be; nil when the table is full.
    mutating func index(of color: UInt32) -> UInt8? {
        var slot = Int((color &* 0x9E37_79B1) >> 22)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if colors[number] == color { return UInt8(number) }
            slot = (slot + 1) & 1023
        }
        guard colors.count < limit else { return nil }
        colors.append(color)
        slots[slot] = UInt16(colors.count)
        return UInt8(colors.count - 1)
    }
}
