import KFCore

extension ParsedArguments {
    func integer(_ long: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = value(long) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            let limits =
                range.upperBound == .max
                ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw wrong(long, "a whole number \(limits)")
        }
        return number
    }

    func number(_ long: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
        guard let text = value(long) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw wrong(
                long, "a number from \(ValueText.short(range.lowerBound)) to \(ValueText.short(range.upperBound))")
        }
        return number
    }

    /// In bytes: `512`, `10k`, `512MiB`, `10G`. Letters are powers of 1024.
    func size(_ long: String) throws(UsageError) -> Int64? {
        guard let text = value(long) else { return nil }
        guard let size = ValueText.size(text) else {
            throw wrong(long, "a size such as 500M or 10GiB")
        }
        return size
    }

    /// `15s`, `10m`, `1h30m`, `7d`, `500ms`; a number alone is seconds.
    func duration(_ long: String) throws(UsageError) -> Duration? {
        guard let text = value(long) else { return nil }
        guard let milliseconds = ValueText.milliseconds(text) else {
            throw wrong(long, "a time such as 15s, 10m or 1h30m")
        }
        return .milliseconds(milliseconds)
    }

    /// `example.com`, `*.example.com`, `example.com:8080`, `[::1]`.
    func host(_ long: String) throws(UsageError) -> HostPattern? {
        guard let text = value(long) else { return nil }
        guard let host = HostPattern(text) else {
            throw wrong(long, "a host such as example.com, *.example.com, example.com:8080 or [::1]")
        }
        return host
    }

    /// Opaque: `#fff`, `#336699`.
    func opaqueColor(_ long: String) throws(UsageError) -> Color? {
        guard let text = value(long) else { return nil }
        guard let color = Color(text), color.alpha == 255 else { throw wrong(long, "a colour such as #fff or #336699") }
        return color
    }

    /// `7d`, `never`, `expired`, `2026-12-31T18:00`.
    func expiration(_ long: String) throws(UsageError) -> StorageExpiration? {
        guard let text = value(long) else { return nil }
        switch text {
        case "never": return .never
        case "expired": return .expired
        default:
            if let milliseconds = ValueText.milliseconds(text) { return .seconds(Double(milliseconds) / 1000) }
            if let date = DateText.moment(text) { return .date(date) }
            throw wrong(long, "a time such as 7d, a date such as 2030-12-31T18:00+02:00, never or expired")
        }
    }

    /// `cache-time`, `none`, `3d`.
    func extending(_ long: String) throws(UsageError) -> ExpirationExtending? {
        guard let text = value(long) else { return nil }
        switch text {
        case "cache-time": return .cacheTime
        case "none": return ExpirationExtending.none
        default:
            guard let milliseconds = ValueText.milliseconds(text), milliseconds > 0 else {
                throw wrong(long, "cache-time, none or a time such as 3d")
            }
            return .expirationTime(.seconds(Double(milliseconds) / 1000))
        }
    }
}

/// Numbers with units, as people write them.
enum ValueText {
    private static let spans: [(unit: String, milliseconds: Double)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000),
    ]

    static func milliseconds(_ text: String) -> Int64? {
        if let seconds = Double(text), seconds >= 0, seconds < 1e12 { return Int64(seconds * 1000) }
        var rest = text[...]
        var sum = 0.0
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(digits.count)
            let letters = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(letters.count)
            guard let number = Double(digits), let span = spans.first(where: { $0.unit == letters }) else { return nil }
            sum += number * span.milliseconds
        }
        return sum < 1e15 ? Int64(sum) : nil
    }

    /// `100`, `0.01`
    static func short(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }

    static func size(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let number = Double(digits) else { return nil }
        let powers = ["": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40]
        var unit = text.dropFirst(digits.count).lowercased()
        if unit.hasSuffix("ib") {
            unit.removeLast(2)
        } else if unit.count == 2, unit.hasSuffix("b") {
            unit.removeLast()
        }
        guard let power = powers[unit] else { return nil }
        let bytes = number * Double(Int64(1) << power)
        return bytes < 0x1p62 ? Int64(bytes) : nil
    }
}
