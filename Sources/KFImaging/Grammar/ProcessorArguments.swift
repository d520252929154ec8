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

    /// Returns what `parse` makes of an argument; `standard` when the argument is absent.
    ///
    /// `example` completes the message about a missing argument, and `form` the one about a text that is refused.
    package func value<Value>(
        _ key: String, default standard: Value? = nil, missing example: @autoclosure () -> String = "",
        mustBe form: @autoclosure () -> String, _ parse: (String) -> Value?
    ) throws(ImagingError) -> Value {
        guard let text = values[key] else {
            if let standard { return standard }
            throw fail("\(key) is missing\(example())")
        }
        guard let value = parse(text) else { throw fail("\(key) is '\(text)', but must be \(form())") }
        return value
    }

    func required(_ key: String, _ example: String) throws(ImagingError) -> String {
        try value(key, missing: ", as in '\(example)'", mustBe: "") { $0 }
    }

    /// Returns a number inside the range; `standard` when the argument is absent.
    package func number(
        _ key: String, in range: ClosedRange<Double>, default standard: Double? = nil
    ) throws(ImagingError) -> Double {
        let (least, most) = (range.lowerBound, range.upperBound)
        return try value(
            key, default: standard,
            mustBe: "a number from \(NumberText.format(least)) to \(NumberText.format(most))"
        ) { NumberText.parse($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// Returns a number above `least` and at most `most`; `standard` when the argument is absent.
    func number(
        _ key: String, above least: Double, upTo most: Double, default standard: Double? = nil
    ) throws(ImagingError) -> Double {
        try value(
            key, default: standard,
            mustBe: "a number above \(NumberText.format(least)) and up to \(NumberText.format(most))"
        ) { NumberText.parse($0).flatMap { $0 > least && $0 <= most ? $0 : nil } }
    }

    /// Returns one of the words of a type; `standard` when the argument is absent.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default standard: Choice? = nil
    ) throws(ImagingError) -> Choice where Choice.RawValue == String {
        let words = Choice.allCases.map(\.rawValue)
        let allowed = "one of \(words.joined(separator: ", "))"
        let given = values[key]?.lowercased() ?? ""
        // A long list hides the word that was meant.
        let guess = allowed.utf8.count > 67 ? NearestName.to(given, in: words) : nil
        return try value(
            key, default: standard, missing: "; it must be \(allowed)",
            mustBe: allowed + (guess.map { "; did you mean '\($0)'?" } ?? "")
        ) { _ in Choice(rawValue: given) }
    }

    /// Returns a size written as `WxH`, `Wx`, `xH` or `P%`.
    func size(_ key: String) throws(ImagingError) -> SizeSpec {
        try value(
            key, missing: ", as in '320x240'",
            mustBe: "like '320x240', '320x' or 'x240', with sides above 0 and up to "
                + "\(NumberText.format(SizeSpec.maximum)), or '50%'",
            SizeSpec.init(text:))
    }

    /// Returns a size whose two sides are stated.
    func sides(_ key: String) throws(ImagingError) -> (width: Double, height: Double) {
        let size = try size(key)
        guard let width = size.width, let height = size.height else { throw fail("\(key) needs both sides") }
        return (width, height)
    }

    /// Returns a colour; `standard` when the argument is absent.
    func color(_ key: String, default standard: Color? = nil) throws(ImagingError) -> Color {
        try value(
            key, default: standard, missing: ", as in '#ff8800'",
            mustBe: "a colour like '#f80', '#ff8800', '#ff880080' or 'tomato'", Color.init(_:))
    }

    /// Returns the radius of a corner; `standard` when the argument is absent.
    func radius(_ key: String, default standard: CornerRadius? = nil) throws(ImagingError) -> CornerRadius {
        try value(
            key, default: standard, missing: ", as in '10', '0.25w' or '0.5h'",
            mustBe: "pixels from 0 to \(NumberText.format(CornerRadius.maximum)), or a fraction from 0 to 1 of the "
                + "width or height like '0.25w' or '0.5h'", CornerRadius.init(_:))
    }

    /// Returns a set of corners; all of them when the argument is absent.
    func corners(_ key: String) throws(ImagingError) -> RectCorner {
        try value(
            key, default: .all, mustBe: "some of tl, tr, bl, br, joined like 'tl+br'", RectCorner.init(_:))
    }

    /// Returns an anchor: a point, a named place or a rule of `interests`; `standard` when the argument is absent.
    func anchor(
        _ key: String, default standard: CroppingImageProcessor.Anchor = .center,
        interests: [CroppingImageProcessor.Interest] = CroppingImageProcessor.Interest.allCases
    ) throws(ImagingError) -> CroppingImageProcessor.Anchor {
        typealias Anchor = CroppingImageProcessor.Anchor
        let names: KeyValuePairs<String, Anchor> = [
            "center": .center, "top-left": Anchor(x: 0, y: 0), "top": Anchor(x: 0.5, y: 0),
            "top-right": Anchor(x: 1, y: 0), "left": Anchor(x: 0, y: 0.5), "right": Anchor(x: 1, y: 0.5),
            "bottom-left": Anchor(x: 0, y: 1), "bottom": Anchor(x: 0.5, y: 1), "bottom-right": Anchor(x: 1, y: 1),
        ]
        let places = names.map { ($0.key, $0.value) } + interests.map { ($0.rawValue, Anchor($0)) }
        func share(_ side: Substring) -> Double? {
            side.hasSuffix("%") ? NumberText.parse(side.dropLast()).map { $0 / 100 } : NumberText.parse(side)
        }
        return try value(
            key, default: standard,
            mustBe: "like '0.5x0.5', '30%x70%' or one of \(places.map(\.0).joined(separator: ", "))"
        ) { text in
            if let place = places.first(where: { $0.0 == text.lowercased() }) { return place.1 }
            guard let (x, y) = PairText.split(text), let x = share(x), let y = share(y) else { return nil }
            return Anchor(x: x, y: y)
        }
    }
}
