import KFCore
import KFSystem

/// The key of an option: its declaration and the way from its text to a typed value. `arguments[Options.timeout]` reads it.
struct Option<Value: Sendable>: Sendable {
    let spec: OptionSpec
    /// The value when no layer gives one.
    let absent: Value
    /// Makes the value of what the nearest layer gives.
    let parse: @Sendable (Given) throws(UsageError) -> Value

    var name: String { spec.name }
}

extension Option {
    init(
        _ name: String, short: Character? = nil, _ group: OptionSpec.Group, value: ValueKind? = nil,
        _ form: OptionForm<Value>, valueOptional: Bool = false, byDefault: String? = nil, excludes: [String] = [],
        commandLineAlone: Bool = false, homonym: Bool = false, secret: SecretValue? = nil, decidesEntry: Bool = false,
        help: String
    ) {
        spec = OptionSpec(
            name, short: short, group, value: value ?? form.words, valueOptional: valueOptional,
            repeatable: form.isRepeatable, byDefault: byDefault ?? form.byDefault, excludes: excludes,
            commandLineAlone: commandLineAlone, homonym: homonym, secret: secret, decidesEntry: decidesEntry, help: help
        )
        (absent, parse) = (form.absent, form.parse)
    }
}

/// The way from an option's texts to its value.
struct OptionForm<Value: Sendable>: Sendable {
    /// The value when no layer gives one.
    let absent: Value
    var isRepeatable = false
    var words: ValueKind?
    var byDefault: String?
    let parse: @Sendable (Given) throws(UsageError) -> Value

    /// One value, of which the last one counts. Nil stands for the library's default.
    static func one<Wrapped>(_ reader: ValueReader<Wrapped>) -> Self where Value == Wrapped? {
        Self(absent: nil) { (given) throws(UsageError) in try reader.read(given) }
    }

    /// The same, with a reader of its own, which returns nil for a text that is not a value.
    static func one<Wrapped>(
        _ takes: @autoclosure @escaping @Sendable () -> String, _ read: @escaping @Sendable (String) -> Wrapped?
    ) -> Self where Value == Wrapped? {
        one(ValueReader(takes(), read))
    }

    static func one(default value: Value, _ reader: ValueReader<Value>) -> Self {
        Self(absent: value, parse: reader.read)
    }

    /// A value for each time that the option is given.
    static func each<Element>(_ reader: ValueReader<Element>) -> Self where Value == [Element] {
        Self(absent: [], isRepeatable: true) { (given) throws(UsageError) in
            var values: [Element] = []
            for text in given.texts { values.append(try reader.read(given.only(text))) }
            return values
        }
    }

    static func choice(
        _ words: @escaping @Sendable () -> [String], default word: String?, _ value: Value,
        _ make: @escaping @Sendable (String) -> Value?
    ) -> Self {
        Self(
            absent: value, words: ValueKind(words: words), byDefault: word,
            parse: ValueReader.choice(words, make).read)
    }
}

extension OptionForm where Value == Bool {
    /// A switch, which is off unless a layer turns it on.
    static var flag: Self { Self(absent: false) { (given) throws(UsageError) in given.isOn } }
}

extension OptionForm where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    static func choice(default value: Value) -> Self {
        choice({ Value.allCases.map(\.rawValue) }, default: value.rawValue, value, Value.init(rawValue:))
    }
}

extension OptionForm where Value: CustomStringConvertible {
    static func number(default value: Value, _ reader: ValueReader<Value>) -> Self {
        Self(absent: value, byDefault: "\(value)", parse: reader.read)
    }
}

/// Makes a typed value of an option's text.
struct ValueReader<Value: Sendable>: Sendable {
    let read: @Sendable (Given) throws(UsageError) -> Value

    /// `read` throws its own message.
    init(_ read: @escaping @Sendable (Given) throws(UsageError) -> Value) { self.read = read }

    /// `read` returns nil for a text that is not a value. The message then says what the option takes.
    init(
        _ takes: @autoclosure @escaping @Sendable () -> String, _ read: @escaping @Sendable (String) -> Value?
    ) {
        self.read = { (given) throws(UsageError) in
            guard let value = read(given.text) else { throw given.wrong(takes()) }
            return value
        }
    }

    func map<Other>(_ change: @escaping @Sendable (Value) -> Other) -> ValueReader<Other> {
        ValueReader<Other> { (given) throws(UsageError) in change(try read(given)) }
    }
}

extension ValueReader {
    /// One of several words, in upper or lower case; a format's may be any ending of its files, such as `jpg`.
    static func choice(
        _ words: @escaping @Sendable () -> [String], _ make: @escaping @Sendable (String) -> Value?
    ) -> ValueReader {
        ValueReader { (given) throws(UsageError) in
            let words = words()
            let lower = given.text.lowercased()
            // Few options take formats, and their usual words are enough for most.
            let found = words.first { $0 == lower }
            let format = found == nil ? ImageFormat(ending: lower)?.rawValue : nil
            guard let word = found ?? words.first(where: { $0 == format }), let value = make(word) else {
                let hint = Suggestion.hint(for: given.text, in: words)
                throw UsageError(
                    message: "--\(given.spec.name) takes \(Suggestion.list(words)), not '\(given.text)'\(hint)"
                        + given.origin.note)
            }
            return value
        }
    }
}

extension ValueReader where Value == String {
    static var text: Self { Self { (given) throws(UsageError) in given.text } }

    /// Any text but the empty one.
    static func text(needs what: String) -> Self {
        Self { (given) throws(UsageError) in
            guard !given.text.isEmpty else { throw given.problem("needs \(what)") }
            return given.text
        }
    }

    /// Text that goes into a header and must not end it.
    static var headerText: Self {
        Self { (given) throws(UsageError) in
            guard FieldText.isValue(given.text) else {
                throw given.problem("must not hold line breaks or other control characters")
            }
            return given.text
        }
    }

    /// A host as URLs have it.
    static var hostName: Self {
        Self { (given) throws(UsageError) in
            do throws(HostName.Failure) { return try HostName.normal(given.text) } catch {
                throw given.problem("the host \(error.reason)")
            }
        }
    }

    static var tag: Self {
        Self("a name of at most 100 characters, such as site") { text in
            let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
            return isPlain && (1...100).contains(text.count) ? text : nil
        }
    }
}

extension ValueReader where Value == Int {
    static func integer(in range: ClosedRange<Int>) -> Self {
        Self(
            range.upperBound == .max
                ? "a whole number of at least \(range.lowerBound)"
                : "a whole number from \(range.lowerBound) to \(range.upperBound)"
        ) { text in Int(text).flatMap { range.contains($0) ? $0 : nil } }
    }
}

extension ValueReader where Value == Double {
    static func number(in range: ClosedRange<Double>) -> Self {
        Self("a number from \(ValueText.short(range.lowerBound)) to \(ValueText.short(range.upperBound))") { text in
            Double(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension ValueReader where Value == Int64 {
    /// A number of bytes: `512`, `10k`, `512MiB`, `10G`. Letters are powers of 1024.
    static var size: Self { Self("a size such as 500M or 10GiB", ValueText.size) }
}

extension ValueReader where Value == Duration {
    /// `15s`, `10m`, `1h30m`, `7d`, `500ms`; a number alone is seconds.
    static var duration: Self {
        Self("a time such as 15s, 10m or 1h30m") { ValueText.milliseconds($0).map { .milliseconds($0) } }
    }
}

extension ValueReader where Value == HostPattern {
    static var host: Self {
        Self("a host such as example.com, *.example.com, example.com:8080 or [::1]") { HostPattern($0) }
    }
}

extension ValueReader where Value == any ImageProcessor {
    static var processor: Self {
        Self { (given) throws(UsageError) in
            guard !given.text.isEmpty else { throw given.problem("needs a processor, such as resize:320x240") }
            do throws(ImagingError) { return try ProcessorParser.parse(given.text) } catch {
                throw UsageError(message: error.message)
            }
        }
    }
}
