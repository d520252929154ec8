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
        // Once: each look-up of a processed image needs it.
        text = "\(width.map(NumberText.format) ?? "")x\(height.map(NumberText.format) ?? "")"
    }

    /// The sides in pixels, not rounded.
    func scaled(_ factor: Double) -> (width: Double?, height: Double?) {
        (width.map { $0 * factor }, height.map { $0 * factor })
    }
}
