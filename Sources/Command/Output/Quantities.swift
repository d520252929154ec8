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
        if let seconds = Double(text), seconds >= 0, seconds < 1e12 { return Int64(clamping: seconds * 1000) }
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
        return sum < 1e15 ? Int64(clamping: sum) : nil
    }

    /// `100`, `0.01`
    static func short(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(clamping: number))" : "\(number)"
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
        return bytes < 0x1p62 ? Int64(clamping: bytes) : nil
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
        let (date, rest) = (text.prefix(10), text.dropFirst(10))
        guard rest.isEmpty || "Tt ".contains(rest.first ?? "T") else { return nil }
        let clock = rest.isEmpty ? "00:00" : rest.dropFirst().prefix { $0.isNumber || $0 == ":" }
        let whole = "\(date)T\(clock)" + (clock.count == 5 ? ":00" : "")
        let parts = whole.split { "-T:".contains($0) }.compactMap { Int32($0, radix: 10) }
        guard parts.count == 6, let minutes = minutes(rest.dropFirst(clock.count + 1)) else { return nil }
        var fields = tm()
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (parts[0] &- 1900, parts[1] &- 1, parts[2])
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (parts[3], parts[4], parts[5])
        let seconds = Int64(timegm(&fields))
        // timegm makes the 2nd of March out of the 30th of February, and other texts have the same numbers.
        guard Self.text(Timestamp(milliseconds: seconds * 1000)) == whole else { return nil }
        return Timestamp(milliseconds: (seconds - minutes * 60) * 1000)
    }

    /// The minutes of an offset: `Z`, `+02:00`, `+0200`, `-05`; none is zero.
    private static func minutes(_ text: Substring) -> Int64? {
        guard let sign = text.first, text != "Z", text != "z" else { return 0 }
        let bytes = Array(text.utf8.dropFirst())
        let digits = bytes.count == 5 && bytes[2] == UInt8(ascii: ":") ? bytes[..<2] + bytes[3...] : bytes[...]
        guard sign == "+" || sign == "-", [2, 4].contains(digits.count), digits.allSatisfy({ $0 &- 0x30 < 10 }),
            let number = Int64(String(decoding: digits, as: UTF8.self))
        else { return nil }
        let (hours, minutes) = digits.count == 4 ? (number / 100, number % 100) : (number, 0)
        guard hours < 24, minutes < 60 else { return nil }
        return (hours * 60 + minutes) * (sign == "-" ? -1 : 1)
    }
}
