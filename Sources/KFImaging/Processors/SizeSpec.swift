/// A size in points in which one side may be open, as in `320x240`, `320x` or `x240`, or a share of the image's own, as in
/// `50%`.
public struct SizeSpec: Sendable, Equatable {
    /// The width in points; nil when it follows from the height.
    public let width: Double?
    /// The height in points; nil when it follows from the width.
    public let height: Double?
    /// The share of each side of the image, in percent; nil for a size in points.
    public let percent: Double?
    /// The form in identifiers, `WxH` or `P%`.
    package let text: String

    /// The largest side.
    public static let maximum = 65_535.0
    /// The largest share, in percent.
    public static let maximumPercent = 1000.0

    /// Nil for a share that is not above 0 and at most ``maximumPercent``.
    public init?(percent: Double) {
        guard percent > 0, percent <= SizeSpec.maximumPercent else { return nil }
        (width, height, self.percent) = (nil, nil, percent)
        text = NumberText.format(percent) + "%"
    }

    /// Nil without a side, and for a side that is not above 0 and at most ``maximum``.
    public init?(width: Double?, height: Double?) {
        guard width != nil || height != nil else { return nil }
        for side in [width, height].compactMap({ $0 }) {
            guard side.isFinite, side > 0, side <= SizeSpec.maximum else { return nil }
        }
        (self.width, self.height, percent) = (width, height, nil)
        text = Self.text(width, height)
    }

    /// Reads the form in identifiers; nil for another text and for a side out of its range.
    init?(text: String) {
        if text.hasSuffix("%"), let percent = NumberText.parse(text.dropLast()) {
            self.init(percent: percent)
            return
        }
        guard let (width, height) = PairText.split(text) else { return nil }
        let sides = (NumberText.parse(width), NumberText.parse(height))
        guard width.isEmpty || sides.0 != nil, height.isEmpty || sides.1 != nil else { return nil }
        self.init(width: sides.0, height: sides.1)
    }

    /// Takes both sides, each at most ``maximum``; zero, negative sides and NaN become 1.
    init(possible width: Double, _ height: Double) {
        self.width = Self.possible(width)
        self.height = Self.possible(height)
        percent = nil
        text = Self.text(self.width, self.height)
    }

    /// Clamps a side: at most ``maximum``, and 1 for zero, negative numbers and NaN.
    static func possible(_ side: Double) -> Double { side > 0 ? min(side, maximum) : 1 }

    /// A length in whole pixels. A larger one exceeds every limit anyway, and must not trap in this conversion.
    static func pixels(_ length: Double, least: Double = 1) -> Int {
        Int(clamping: max(least, min(length, 1e9).rounded()))
    }

    /// Made once, because each look-up of a processed image needs it.
    private static func text(_ width: Double?, _ height: Double?) -> String {
        "\(width.map(NumberText.format) ?? "")x\(height.map(NumberText.format) ?? "")"
    }
}

extension Double {
    /// The nearest number in the range; the lower bound for NaN.
    func clamped(to range: ClosedRange<Double>) -> Double {
        self >= range.lowerBound ? min(self, range.upperBound) : range.lowerBound
    }
}
