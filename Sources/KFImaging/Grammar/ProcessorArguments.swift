/// The arguments of one processor's text, taken one by one.
///
/// `name:value,value,key=value`: values without a key fill the parameters in their order.
struct ProcessorArguments {
    /// The whole text of the one processor, for messages.
    let spec: String
    private let parameters: [String]
    private var values: [String: String] = [:]

    /// - Throws: `invalidProcessor` for a key that is unknown or given twice, and for too many values.
    init(spec: String, arguments: Substring?, parameters: [String]) throws(ImagingError) {
        self.spec = spec
        self.parameters = parameters
        guard let arguments else { return }
        var order = parameters[...]
        for part in arguments.split(separator: ",", omittingEmptySubsequences: false) {
            let text = part.trimmed
            let key: String
            let value: Substring
            if let equals = text.firstIndex(of: "=") {
                key = String(text[..<equals].trimmed)
                value = text[text.index(after: equals)...].trimmed
                guard parameters.contains(key) else {
                    throw fail("no argument '\(key)'; it takes \(takes)")
                }
            } else {
                guard let next = order.popFirst() else {
                    throw fail("too many arguments at '\(text)'; it takes \(takes)")
                }
                key = next
                value = text
            }
            if value.isEmpty { throw fail("\(key) is empty") }
            if values.updateValue(String(value), forKey: key) != nil { throw fail("\(key) is given twice") }
        }
    }

    private var takes: String { parameters.isEmpty ? "none" : parameters.joined(separator: ", ") }

    func fail(_ reason: String) -> ImagingError {
        .invalidProcessor(spec: spec, reason: reason)
    }

    func text(_ key: String) -> String? { values[key] }

    func required(_ key: String, _ example: String) throws(ImagingError) -> String {
        guard let value = values[key] else { throw fail("\(key) is missing, as in '\(example)'") }
        return value
    }

    /// A number inside the range; the default where it is not given.
    func number(_ key: String, in range: ClosedRange<Double>, default standard: Double? = nil) throws(ImagingError)
        -> Double
    {
        guard let text = values[key] else {
            if let standard { return standard }
            throw fail("\(key) is missing")
        }
        guard let number = NumberText.parse(text), range.contains(number) else {
            let bounds = "\(NumberText.format(range.lowerBound)) to \(NumberText.format(range.upperBound))"
            throw fail("\(key) is '\(text)', but must be a number from \(bounds)")
        }
        return number
    }

    /// A number above the one and at most the other; the default where it is not given.
    func number(
        _ key: String, above least: Double, upTo most: Double, default standard: Double? = nil
    ) throws(ImagingError) -> Double {
        guard let text = values[key] else {
            if let standard { return standard }
            throw fail("\(key) is missing")
        }
        guard let number = NumberText.parse(text), number > least, number <= most else {
            let bounds = "above \(NumberText.format(least)) and up to \(NumberText.format(most))"
            throw fail("\(key) is '\(text)', but must be a number \(bounds)")
        }
        return number
    }

    /// One of a list of words.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, as type: Choice.Type
    ) throws(ImagingError) -> Choice where Choice.RawValue == String {
        let allowed = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        guard let text = values[key] else { throw fail("\(key) is missing; it must be one of \(allowed)") }
        guard let choice = Choice(rawValue: text.lowercased()) else {
            let guess = NearestName.to(text.lowercased(), in: Choice.allCases.map(\.rawValue))
            let hint = allowed.utf8.count > 60 ? guess.map { "; did you mean '\($0)'?" } : nil
            throw fail("\(key) is '\(text)', but must be one of \(allowed)\(hint ?? "")")
        }
        return choice
    }

    /// The same; the default where it is not given.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default standard: Choice
    ) throws(ImagingError) -> Choice where Choice.RawValue == String {
        values[key] == nil ? standard : try choice(key, as: Choice.self)
    }

    /// `WxH`, `Wx` or `xH`.
    func size(_ key: String, _ example: String) throws(ImagingError) -> SizeSpec {
        let text = try required(key, example)
        if let (width, height) = PairText.split(text) {
            let sides = (NumberText.parse(width), NumberText.parse(height))
            let readable = (width.isEmpty || sides.0 != nil) && (height.isEmpty || sides.1 != nil)
            if readable, let size = SizeSpec(width: sides.0, height: sides.1) { return size }
        }
        let limit = NumberText.format(SizeSpec.maximum)
        throw fail("\(key) is '\(text)', but must be like '\(example)' with sides above 0 and up to \(limit)")
    }
}

extension ProcessorArguments {
    /// A colour, which must be given.
    func color(_ key: String) throws(ImagingError) -> Color {
        guard let text = text(key) else { throw fail("\(key) is missing, as in '#ff8800'") }
        guard let color = Color(text) else {
            throw fail("\(key) is '\(text)', but must be a colour like '#f80', '#ff8800' or '#ff880080'")
        }
        return color
    }

    /// A colour; the default where it is not given.
    func color(_ key: String, default standard: Color) throws(ImagingError) -> Color {
        text(key) == nil ? standard : try color(key)
    }
}

extension ProcessorArguments {
    /// A corner's radius; the default where it is not given.
    func radius(_ key: String, default standard: CornerRadius? = nil) throws(ImagingError) -> CornerRadius {
        guard let text = text(key) else {
            if let standard { return standard }
            throw fail("\(key) is missing, as in '10', '0.25w' or '0.5h'")
        }
        guard let radius = CornerRadius(text) else {
            let limit = NumberText.format(CornerRadius.maximum)
            throw fail(
                "\(key) is '\(text)', but must be pixels from 0 to \(limit), or a share from 0 to 1 of the width or "
                    + "height like '0.25w' or '0.5h'")
        }
        return radius
    }

    /// Corners; all where they are not given.
    func corners(_ key: String) throws(ImagingError) -> RectCorner {
        guard let text = text(key) else { return .all }
        guard let corners = RectCorner(text) else {
            throw fail("\(key) is '\(text)', but must be some of tl, tr, bl, br, joined like 'tl+br'")
        }
        return corners
    }
}

/// Reads a crop's anchor: `AXxAY`, or the name of a place.
enum CropAnchorText {
    private static let places: [(String, Double, Double)] = [
        ("center", 0.5, 0.5), ("top-left", 0, 0), ("top", 0.5, 0), ("top-right", 1, 0), ("left", 0, 0.5),
        ("right", 1, 0.5), ("bottom-left", 0, 1), ("bottom", 0.5, 1), ("bottom-right", 1, 1),
    ]

    static func parse(_ arguments: ProcessorArguments) throws(ImagingError) -> CroppingImageProcessor.Anchor {
        guard let text = arguments.text("anchor") else { return .center }
        if let place = places.first(where: { $0.0 == text.lowercased() }) { return .init(x: place.1, y: place.2) }
        if let (x, y) = PairText.split(text), let x = NumberText.parse(x), let y = NumberText.parse(y) {
            return .init(x: x, y: y)
        }
        let names = places.map(\.0).joined(separator: ", ")
        throw arguments.fail("anchor is '\(text)', but must be like '0.5x0.5' or one of \(names)")
    }
}
