/// The radius of a corner: in points, or as a fraction of the image's width or height.
public enum CornerRadius: Sendable, Equatable {
    /// A radius in points.
    case point(Double)
    /// A fraction of the image's width, from 0 to 1.
    case widthFraction(Double)
    /// A fraction of the image's height, from 0 to 1.
    case heightFraction(Double)

    /// The largest radius in points.
    public static let maximum = SizeSpec.maximum

    /// The radius clamped to its range.
    var possible: CornerRadius {
        switch self {
        case .point(let radius): .point(radius.clamped(to: 0...CornerRadius.maximum))
        case .widthFraction(let share): .widthFraction(share.clamped(to: 0...1))
        case .heightFraction(let share): .heightFraction(share.clamped(to: 0...1))
        }
    }

    /// The form in identifiers: `10`, `0.25w` or `0.5h`.
    var text: String {
        switch self {
        case .point(let radius): NumberText.format(radius)
        case .widthFraction(let share): NumberText.format(share) + "w"
        case .heightFraction(let share): NumberText.format(share) + "h"
        }
    }

    /// Parses the form in identifiers; nil for another text and for a radius out of its range.
    init?(_ text: String) {
        let text = text.lowercased()
        let unit = text.last
        guard let number = NumberText.parse(unit == "w" || unit == "h" ? text.dropLast() : text[...]) else {
            return nil
        }
        self = unit == "w" ? .widthFraction(number) : unit == "h" ? .heightFraction(number) : .point(number)
        if self != possible { return nil }
    }

    /// Returns the radius in pixels, at most half the shorter side.
    func pixels(width: Int, height: Int, scaleFactor: Double) -> Double {
        let limit = Double(min(width, height)) / 2
        return switch self {
        case .point(let radius): max(0, min(radius * scaleFactor, limit))
        case .widthFraction(let share): min(share * Double(width), limit)
        case .heightFraction(let share): min(share * Double(height), limit)
        }
    }
}

/// A set of a rectangle's corners, with Kingfisher's raw values.
public struct RectCorner: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The top left corner (1).
    public static let topLeft = RectCorner(rawValue: 1)
    /// The top right corner (2).
    public static let topRight = RectCorner(rawValue: 2)
    /// The bottom left corner (4).
    public static let bottomLeft = RectCorner(rawValue: 4)
    /// The bottom right corner (8).
    public static let bottomRight = RectCorner(rawValue: 8)
    /// All four corners.
    public static let all: RectCorner = [.topLeft, .topRight, .bottomLeft, .bottomRight]

    static let names: [(name: String, corner: RectCorner)] = [
        ("tl", .topLeft), ("tr", .topRight), ("bl", .bottomLeft), ("br", .bottomRight),
    ]

    /// The form in identifiers: names joined by plus signs, or `none`.
    var text: String {
        isEmpty ? "none" : RectCorner.names.filter { contains($0.corner) }.map(\.name).joined(separator: "+")
    }

    /// Parses names in any order, or `none`; nil for an unknown or empty name.
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
