/// How large the radius of a corner is: in points, or as a share of the image's width or height.
public enum CornerRadius: Sendable, Equatable {
    /// In points: pixels, unless there is a scale factor.
    case point(Double)
    /// A share of the image's width, from 0 to 1.
    case widthFraction(Double)
    /// A share of the image's height, from 0 to 1.
    case heightFraction(Double)

    /// The largest radius in points; a share goes up to 1.
    public static let maximum = SizeSpec.maximum

    /// The nearest radius that is possible.
    var possible: CornerRadius {
        switch self {
        case .point(let radius): .point(radius.clamped(to: 0...CornerRadius.maximum))
        case .widthFraction(let share): .widthFraction(share.clamped(to: 0...1))
        case .heightFraction(let share): .heightFraction(share.clamped(to: 0...1))
        }
    }

    /// Whether it is not negative and not above what is allowed.
    var isPossible: Bool {
        switch self {
        case .point(let radius): (0...CornerRadius.maximum).contains(radius)
        case .widthFraction(let share), .heightFraction(let share): (0...1).contains(share)
        }
    }

    /// `10`, `0.25w` or `0.5h`, as it stands in identifiers.
    var text: String {
        switch self {
        case .point(let radius): NumberText.format(radius)
        case .widthFraction(let share): NumberText.format(share) + "w"
        case .heightFraction(let share): NumberText.format(share) + "h"
        }
    }

    /// Nil for what is no radius or not possible.
    init?(_ text: String) {
        let text = text.lowercased()
        let unit = text.last
        guard let number = NumberText.parse(unit == "w" || unit == "h" ? text.dropLast() : text[...]) else {
            return nil
        }
        self = unit == "w" ? .widthFraction(number) : unit == "h" ? .heightFraction(number) : .point(number)
        if !isPossible { return nil }
    }

    /// In pixels, at most half the shorter side.
    func pixels(width: Int, height: Int, scaleFactor: Double) -> Double {
        let limit = Double(min(width, height)) / 2
        return switch self {
        case .point(let radius): max(0, min(radius * scaleFactor, limit))
        case .widthFraction(let share): min(share * Double(width), limit)
        case .heightFraction(let share): min(share * Double(height), limit)
        }
    }
}

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
