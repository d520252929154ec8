/// Corners of a rectangle, with Kingfisher's values.
public struct RectCorner: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// 1.
    public static let topLeft = RectCorner(rawValue: 1)
    /// 2.
    public static let topRight = RectCorner(rawValue: 2)
    /// 4.
    public static let bottomLeft = RectCorner(rawValue: 4)
    /// 8.
    public static let bottomRight = RectCorner(rawValue: 8)
    /// All four.
    public static let all: RectCorner = [.topLeft, .topRight, .bottomLeft, .bottomRight]

    static let names: [(name: String, corner: RectCorner)] = [
        ("tl", .topLeft), ("tr", .topRight), ("bl", .bottomLeft), ("br", .bottomRight),
    ]

    /// The names with plus signs between them, as they stand in identifiers; `none` for no corner.
    var text: String {
        isEmpty ? "none" : RectCorner.names.filter { contains($0.corner) }.map(\.name).joined(separator: "+")
    }

    /// Reads names in any order, or `none`; nil when one is unknown or there are none.
    init?(_ text: String) {
        if text == "none" {
            self = []
            return
        }
        var corners: RectCorner = []
        for part in text.lowercased().split(separator: "+", omittingEmptySubsequences: false) {
            guard let named = RectCorner.names.first(where: { $0.name == part }) else { return nil }
            corners.insert(named.corner)
        }
        self = corners
    }
}
