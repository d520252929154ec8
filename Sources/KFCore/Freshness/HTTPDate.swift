import Glibc
import KFStorage

/// The parser of HTTP dates (RFC 9110, 5.6.7): the current format and the two obsolete ones.
enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let longDays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    /// Parses a date; nil if it is malformed. The case of letters does not matter; spaces and the number of digits do.
    /// An `Expires` that violates the grammar means that the response has expired (RFC 9111, 5.3).
    static func parse(_ text: some StringProtocol) -> Timestamp? {
        let words = text.lowercased().split(separator: " ", omittingEmptySubsequences: false)
        guard let day = words.first else { return nil }
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT
        case 6 where words[5] == "gmt" && day.last == "," && days.contains(String(day.dropLast())):
            return moment(year: words[3], month: words[2], day: words[1], time: words[4])
        // Sunday, 06-Nov-94 08:49:37 GMT
        case 4 where words[3] == "gmt" && day.last == "," && longDays.contains(String(day.dropLast())):
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, date[2].utf8.count == 2, let short = number(date[2], 0...99) else { return nil }
            // The century puts the year at most 50 years ahead, reckoned from the year of writing.
            return moment(
                year: "\(short < 76 ? 2000 + short : 1900 + short)", month: date[1], day: date[0], time: words[2])
        // Sun Nov  6 08:49:37 1994: a day of one digit has a space in place of the other.
        case 6 where days.contains(String(day)) && words[2].isEmpty && words[3].utf8.count == 1:
            return moment(year: words[5], month: words[1], day: "0" + words[3], time: words[4])
        case 5 where days.contains(String(day)):
            return moment(year: words[4], month: words[1], day: words[2], time: words[3])
        default: return nil
        }
    }

    private static func moment(
        year: some StringProtocol, month: Substring, day: some StringProtocol, time: Substring
    ) -> Timestamp? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        // A leap second may be written as 60.
        guard clock.count == 3, clock.allSatisfy({ $0.utf8.count == 2 }), year.utf8.count == 4, day.utf8.count == 2,
            let year = number(year, 0...9999),
            let month = months.firstIndex(of: String(month)), let day = number(day, 1...31),
            let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
            let second = number(clock[2], 0...60)
        else { return nil }
        var fields = tm()
        fields.tm_year = year - 1900
        fields.tm_mon = Int32(month)
        fields.tm_mday = day
        fields.tm_hour = hour
        fields.tm_min = minute
        fields.tm_sec = second
        return Timestamp(milliseconds: Int64(timegm(&fields)) * 1000)
    }

    private static func number(_ text: some StringProtocol, _ range: ClosedRange<Int32>) -> Int32? {
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let value = Int32(text), range.contains(value) else {
            return nil
        }
        return value
    }
}
