/// An EXIF orientation, 1 to 8: how the stored picture is to be turned for display.
struct Orientation: Equatable {
    let value: Int

    /// Anything outside 1…8 is taken as 1.
    init(_ value: Int) {
        self.value = (1...8).contains(value) ? value : 1
    }

    static let upright = Orientation(1)

    /// Whether the displayed picture has the stored one's sides exchanged.
    var swapsSides: Bool { value >= 5 }

    /// Where the displayed pixel (x, y) lies in the stored picture: base + x·stepX + y·stepY, in pixels.
    func map(width: Int, height: Int) -> (originX: Int, originY: Int, stepX: (Int, Int), stepY: (Int, Int)) {
        let right = width - 1
        let bottom = height - 1
        switch value {
        case 2: return (right, 0, (-1, 0), (0, 1))
        case 3: return (right, bottom, (-1, 0), (0, -1))
        case 4: return (0, bottom, (1, 0), (0, -1))
        case 5: return (0, 0, (0, 1), (1, 0))
        case 6: return (0, bottom, (0, -1), (1, 0))
        case 7: return (right, bottom, (0, -1), (-1, 0))
        case 8: return (right, 0, (0, 1), (-1, 0))
        default: return (0, 0, (1, 0), (0, 1))
        }
    }
}
