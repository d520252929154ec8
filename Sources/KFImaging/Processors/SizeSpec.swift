/// A size in points of which one side may be left open, as in `320x240`, `320x` or `x240`.
public struct SizeSpec: Sendable, Equatable {
    /// Nil for a side that follows from the other.
    public let width: Double?
    /// In points; nil follows from the width.
    public let height: Double?
    /// `WxH`, as it stands in identifiers.
    public let text: String

    /// The largest side that a size may ask for.
    public static let maximum = 65_535.0

    /// Nil unless at least one side is given and each one is above 0 and at most ``maximum``.
    public init?(width: Double?, height: Double?) {
        guard width != nil || height != nil else { return nil }
        for side in [width, height].compactMap({ $0 }) {
            guard side.isFinite, side > 0, side <= SizeSpec.maximum else { return nil }
        }
        self.width = width
        self.height = height
        text = Self.text(width, height)
    }

    /// A size with both sides. A side that is not above 0 counts as 1, one above ``maximum`` as that.
    init(possible width: Double, _ height: Double) {
        self.width = Self.possible(width)
        self.height = Self.possible(height)
        text = Self.text(self.width, self.height)
    }

    /// Also for a side that is no number.
    static func possible(_ side: Double) -> Double { side > 0 ? min(side, maximum) : 1 }

    /// Made once, as each look-up of a processed image needs it.
    private static func text(_ width: Double?, _ height: Double?) -> String {
        "\(width.map(NumberText.format) ?? "")x\(height.map(NumberText.format) ?? "")"
    }

    /// The sides in pixels, not rounded.
    func scaled(_ factor: Double) -> (width: Double?, height: Double?) {
        (width.map { $0 * factor }, height.map { $0 * factor })
    }
}

extension Double {
    /// The nearest number in the range; the lower bound for what is no number.
    func clamped(to range: ClosedRange<Double>) -> Double {
        self >= range.lowerBound ? min(self, range.upperBound) : range.lowerBound
    }
}
