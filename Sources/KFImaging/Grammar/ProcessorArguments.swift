/// The arguments of one processor, parsed from `name:value,value,key=value`.
///
/// Values without a key fill the parameters in their order.
package struct ProcessorArguments {
    /// The processor's whole text, for messages.
    let spec: String
    private let parameters: [String]
    private var values: [String: String] = [:]

    /// - Throws: `invalidProcessor` for an unknown or repeated key, for an empty value and for too many values.
    ///   A bare word of `switches` sets the parameter of that name.
    package init(
        spec: String, arguments: Substring?, parameters: [String], switches: [String] = []
    ) throws(ImagingError) {
        self.spec = spec
        self.parameters = parameters
        guard let arguments else { return }
        var order = parameters[...]
        for part in arguments.split(separator: ",", omittingEmptySubsequences: false) {
            let text = part.trimmed
            let key: String
            let value: Substring
            // A URL may have an equals sign in its query.
            if let equals = text.firstIndex(of: "="), text[..<equals].allSatisfy({ $0.isLetter || " -".contains($0) }) {
                key = String(text[..<equals].trimmed)
                value = text[text.index(after: equals)...].trimmed
                if switches.contains(key) { throw fail("\(key) is a word of its own, without a value") }
                guard parameters.contains(key) else {
                    throw fail("no argument '\(key)'; it takes \(takes)")
                }
            } else if switches.contains(text.lowercased()) {
                (key, value) = (text.lowercased(), "1")
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

    package func fail(_ reason: String) -> ImagingError {
        .invalidProcessor(spec: spec, reason: reason)
    }

    package func text(_ key: String) -> String? { values[key] }

    func required(_ key: String, _ example: String) throws(ImagingError) -> String {
        guard let value = values[key] else { throw fail("\(key) is missing, as in '\(example)'") }
        return value
    }

    /// Returns a number inside the range; `standard` when the argument is absent.
    package func number(
        _ key: String, in range: ClosedRange<Double>, default standard: Double? = nil
    ) throws(ImagingError) -> Double {
        try number(
            key, "from \(NumberText.format(range.lowerBound)) to \(NumberText.format(range.upperBound))",
            default: standard
        ) { range.contains($0) }
    }

    /// Returns a number above `least` and at most `most`; `standard` when the argument is absent.
    func number(
        _ key: String, above least: Double, upTo most: Double, default standard: Double? = nil
    ) throws(ImagingError) -> Double {
        try number(
            key, "above \(NumberText.format(least)) and up to \(NumberText.format(most))", default: standard
        ) { $0 > least && $0 <= most }
    }

    private func number(
        _ key: String, _ bounds: @autoclosure () -> String, default standard: Double?, _ isIn: (Double) -> Bool
    ) throws(ImagingError) -> Double {
        guard let text = values[key] else {
            if let standard { return standard }
            throw fail("\(key) is missing")
        }
        guard let number = NumberText.parse(text), isIn(number) else {
            throw fail("\(key) is '\(text)', but must be a number \(bounds())")
        }
        return number
    }

    /// Returns one of the words of `type`.
    package func choice<Choice: RawRepresentable & CaseIterable>(
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

    /// Returns one of the words of a type; `standard` when the argument is absent.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default standard: Choice
    ) throws(ImagingError) -> Choice where Choice.RawValue == String {
        values[key] == nil ? standard : try choice(key, as: Choice.self)
    }

    /// Returns a size written as `WxH`, `Wx` or `xH`.
    func size(_ key: String, _ example: String) throws(ImagingError) -> SizeSpec {
        let text = try required(key, example)
        if text.hasSuffix("%"), let size = NumberText.parse(text.dropLast()).flatMap({ SizeSpec(percent: $0) }) {
            return size
        }
        if let (width, height) = PairText.split(text) {
            let sides = (NumberText.parse(width), NumberText.parse(height))
            let readable = (width.isEmpty || sides.0 != nil) && (height.isEmpty || sides.1 != nil)
            if readable, let size = SizeSpec(width: sides.0, height: sides.1) { return size }
        }
        let limit = NumberText.format(SizeSpec.maximum)
        throw fail(
            "\(key) is '\(text)', but must be like '\(example)', '320x' or 'x240', with sides above 0 and up to \(limit), or '50%'"
        )
    }
}

extension ProcessorArguments {
    /// Returns a colour; the argument is required.
    func color(_ key: String) throws(ImagingError) -> Color {
        guard let text = text(key) else { throw fail("\(key) is missing, as in '#ff8800'") }
        guard let color = Color(text) else {
            throw fail("\(key) is '\(text)', but must be a colour like '#f80', '#ff8800', '#ff880080' or 'tomato'")
        }
        return color
    }

    /// Returns a colour; `standard` when the argument is absent.
    func color(_ key: String, default standard: Color) throws(ImagingError) -> Color {
        text(key) == nil ? standard : try color(key)
    }

    /// Returns the radius of a corner; `standard` when the argument is absent.
    func radius(_ key: String, default standard: CornerRadius? = nil) throws(ImagingError) -> CornerRadius {
        guard let text = text(key) else {
            if let standard { return standard }
            throw fail("\(key) is missing, as in '10', '0.25w' or '0.5h'")
        }
        guard let radius = CornerRadius(text) else {
            let limit = NumberText.format(CornerRadius.maximum)
            throw fail(
                "\(key) is '\(text)', but must be pixels from 0 to \(limit), or a fraction from 0 to 1 of the width "
                    + "or height like '0.25w' or '0.5h'")
        }
        return radius
    }

    /// Returns a set of corners; all of them when the argument is absent.
    func corners(_ key: String) throws(ImagingError) -> RectCorner {
        guard let text = text(key) else { return .all }
        guard let corners = RectCorner(text) else {
            throw fail("\(key) is '\(text)', but must be some of tl, tr, bl, br, joined like 'tl+br'")
        }
        return corners
    }

    /// Returns an anchor: a point, a named place or a rule of `interests`; `standard` when the argument is absent.
    func anchor(
        _ key: String, default standard: CroppingImageProcessor.Anchor = .center,
        interests: [CroppingImageProcessor.Interest] = CroppingImageProcessor.Interest.allCases
    ) throws(ImagingError) -> CroppingImageProcessor.Anchor {
        typealias Anchor = CroppingImageProcessor.Anchor
        guard let text = text(key) else { return standard }
        let places: [(name: String, anchor: Anchor)] = [
            ("center", .center), ("top-left", Anchor(x: 0, y: 0)), ("top", Anchor(x: 0.5, y: 0)),
            ("top-right", Anchor(x: 1, y: 0)), ("left", Anchor(x: 0, y: 0.5)), ("right", Anchor(x: 1, y: 0.5)),
            ("bottom-left", Anchor(x: 0, y: 1)), ("bottom", Anchor(x: 0.5, y: 1)), ("bottom-right", Anchor(x: 1, y: 1)),
        ]
        if let place = places.first(where: { $0.name == text.lowercased() }) { return place.anchor }
        if let interest = interests.first(where: { $0.rawValue == text.lowercased() }) { return Anchor(interest) }
        func share(_ side: Substring) -> Double? {
            side.hasSuffix("%") ? NumberText.parse(side.dropLast()).map { $0 / 100 } : NumberText.parse(side)
        }
        if let (x, y) = PairText.split(text), let x = share(x), let y = share(y) { return Anchor(x: x, y: y) }
        let names = (places.map(\.name) + interests.map(\.rawValue)).joined(separator: ", ")
        throw fail("\(key) is '\(text)', but must be like '0.5x0.5', '30%x70%' or one of \(names)")
    }
}
