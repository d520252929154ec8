import Glibc
import KFCore

extension ByteText {
    /// `36.4 ms`, `1.20 s`: three digits.
    static func seconds(_ duration: Duration) -> String {
        let value = duration / .seconds(1)
        // 999.5 ms and more would be rounded to 1000 ms.
        return value < 0.9995 ? "\(digits(value * 1000)) ms" : "\(digits(value)) s"
    }
}

/// Parsers of numbers with units.
enum ValueText {
    private static let spans: [(unit: String, milliseconds: Double)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000),
    ]

    /// `15s`, `1h30m`; a number alone is seconds. Nil for any other text.
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

    /// `10k`, `512MiB`, `1.5 GiB`, in bytes. Nil for any other text.
    static func size(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let number = Double(digits) else { return nil }
        let powers = ["": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50]
        var unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
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

/// Dates as people write them (ISO 8601): `2026-12-31`, `2026-12-31T18:00`, `2026-12-31 18:00:00+02:00`. UTC where no
/// offset is given; a day begins at 00:00.
enum DateText {
    /// Returns `2030-12-31T18:00:00` in UTC; nil for a time that has no such date.
    static func text(_ time: Timestamp) -> String? {
        var seconds = time_t(time.milliseconds / 1000)
        var fields = tm()
        guard gmtime_r(&seconds, &fields) != nil, (0...9999).contains(Int(fields.tm_year) + 1900) else { return nil }
        let date = [(fields.tm_year + 1900).digits(4), (fields.tm_mon + 1).digits(2), fields.tm_mday.digits(2)]
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { $0.digits(2) }
        return date.joined(separator: "-") + "T" + clock.joined(separator: ":")
    }

    /// Nil for anything else.
    static func moment(_ text: String) -> Timestamp? {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { "Tt ".contains($0) }
        guard let date = numbers(parts[0], "-", [4, 2, 2]) else { return nil }
        var fields = tm()
        fields.tm_year = date[0] - 1900
        fields.tm_mon = date[1] - 1
        fields.tm_mday = date[2]
        var offset: Int64 = 0
        if parts.count == 2 {
            let clock = parts[1].prefix { $0.isNumber || $0 == ":" }
            guard let time = numbers(clock, ":", [2, 2, 2]) ?? numbers(clock, ":", [2, 2]),
                let minutes = minutes(parts[1].dropFirst(clock.count))
            else { return nil }
            fields.tm_hour = time[0]
            fields.tm_min = time[1]
            fields.tm_sec = time.count > 2 ? time[2] : 0
            offset = minutes
        }
        let wanted = fields
        let seconds = Int64(timegm(&fields))
        // timegm makes the 2nd of March out of the 30th of February.
        guard wanted.tm_mon == fields.tm_mon, wanted.tm_mday == fields.tm_mday, wanted.tm_hour == fields.tm_hour,
            wanted.tm_min == fields.tm_min, wanted.tm_sec == fields.tm_sec
        else { return nil }
        return Timestamp(milliseconds: (seconds - offset * 60) * 1000)
    }

    /// The minutes of an offset: `Z`, `+02:00`, `+0200`, `-05`; none is zero.
    private static func minutes(_ text: Substring) -> Int64? {
        guard let sign = text.first, text != "Z", text != "z" else { return 0 }
        let rest = text.dropFirst()
        guard sign == "+" || sign == "-",
            let parts = numbers(rest, ":", [2, 2]) ?? numbers(rest, ":", [2]) ?? numbers(rest, ":", [4]),
            let first = parts.first
        else { return nil }
        let isLong = rest.count == 4
        let hours = isLong ? first / 100 : first
        let minutes = isLong ? first % 100 : parts.count == 2 ? parts[1] : 0
        guard hours < 24, minutes < 60 else { return nil }
        return Int64(hours * 60 + minutes) * (sign == "-" ? -1 : 1)
    }

    /// Groups of so many digits each.
    private static func numbers(_ text: Substring, _ separator: Character, _ lengths: [Int]) -> [Int32]? {
        let groups = text.split(separator: separator, omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == lengths else { return nil }
        var found: [Int32] = []
        for group in groups {
            guard group.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int32(group) else { return nil }
            found.append(number)
        }
        return found
    }
}
