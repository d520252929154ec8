import Glibc
import KFCore

/// Dates as people write them (ISO 8601): `2026-12-31`, `2026-12-31T18:00`, `2026-12-31 18:00:00+02:00`. UTC where no
/// offset is given; a day begins at 00:00.
enum DateText {
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

    /// Of an offset: `Z`, `+02:00`, `+0200`, `-05`; none is zero.
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
