import KFStorage

/// The parser of HTTP dates (RFC 9110, 5.6.7): the current format and the two obsolete ones.
package enum HTTPDate {
    private static let months: StaticString = "janfebmaraprmayjunjulaugsepoctnovdec"
    private static let days: StaticString = "montuewedthufrisatsun"
    private static let longDays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    package static func parse(_ text: some StringProtocol) -> Timestamp? { parse(Substring(text).utf8.span) }

    /// Parses a date; nil if it is malformed. The case of letters does not matter; spaces and the number of digits do.
    /// An `Expires` that violates the grammar means that the response has expired (RFC 9111, 5.3).
    static func parse(_ text: Span<UInt8>) -> Timestamp? {
        let comma = text.indices.first { text[$0] == UInt8(ascii: ",") }
        switch comma {
        case 3 where fits(text, "..., 00 ... 0000 00:00:00 gmt"):
            return name(of: days, in: text, at: 0).flatMap { _ in
                moment(text, year: number(text, at: 12, digits: 4), month: 8, day: 5, time: 17)
            }
        case let comma? where isLongDay(text.extracting(first: comma)):
            let rest = text.extracting(droppingFirst: comma)
            guard fits(rest, ", 00-...-00 00:00:00 gmt") else { return nil }
            // The century puts the year at most 50 years ahead, reckoned from the year of writing.
            let short = number(rest, at: 9, digits: 2)
            return moment(rest, year: short < 76 ? 2000 + short : 1900 + short, month: 5, day: 2, time: 12)
        // A day of one digit has a space in place of the other.
        case nil where fits(text, "... ... 00 00:00:00 0000") || fits(text, "... ...  0 00:00:00 0000"):
            return name(of: days, in: text, at: 0).flatMap { _ in
                moment(text, year: number(text, at: 20, digits: 4), month: 4, day: 8, time: 11)
            }
        default: return nil
        }
    }

    /// Returns whether the text has a form: 0 is a digit and a dot any byte; other characters stand for themselves.
    private static func fits(_ text: Span<UInt8>, _ form: StaticString) -> Bool {
        guard text.count == form.utf8CodeUnitCount else { return false }
        return text.indices.allSatisfy { index in
            switch form.utf8Start[index] {
            case UInt8(ascii: "."): true
            case UInt8(ascii: "0"): text[index] &- 0x30 < 10
            case let letter where letter >= UInt8(ascii: "a"): text[index] | 0x20 == letter
            case let other: text[index] == other
            }
        }
    }

    /// Returns the number of the name of three letters at an offset.
    private static func name(of names: StaticString, in text: Span<UInt8>, at offset: Int) -> Int? {
        (0..<names.utf8CodeUnitCount / 3).first { name in
            (0..<3).allSatisfy { text[offset + $0] | 0x20 == names.utf8Start[3 * name + $0] }
        }
    }

    private static func isLongDay(_ text: Span<UInt8>) -> Bool {
        longDays.contains { day in
            let day = day.utf8.span
            return day.count == text.count && day.indices.allSatisfy { text[$0] | 0x20 == day[$0] }
        }
    }

    /// Returns the number of digits at an offset. A space counts as 0.
    private static func number(_ text: Span<UInt8>, at offset: Int, digits: Int) -> Int {
        (offset..<offset + digits).reduce(0) { $0 * 10 + Int(text[$1] & 0x0f) }
    }

    /// Returns the moment of a date whose parts are at these offsets; nil if one is out of range.
    private static func moment(_ text: Span<UInt8>, year: Int, month: Int, day: Int, time: Int) -> Timestamp? {
        let (day, hour) = (number(text, at: day, digits: 2), number(text, at: time, digits: 2))
        let (minute, second) = (number(text, at: time + 3, digits: 2), number(text, at: time + 6, digits: 2))
        // A leap second may be written as 60.
        guard let month = name(of: months, in: text, at: month), 1...31 ~= day, hour < 24, minute < 60, second <= 60
        else { return nil }
        // Years begin in March here, so that a leap day is the last of its year.
        let (shifted, fromMarch) = month < 2 ? (year + 399, month + 10) : (year + 400, month - 2)
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (153 * fromMarch + 2) / 5 + day
        // Day 0 of year 0 is as many days before 1970, with the 400 years that keep `shifted` positive.
        return Timestamp(milliseconds: Int64((days - 865_566) * 86_400 + hour * 3600 + minute * 60 + second) * 1000)
    }
}
