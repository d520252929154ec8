package enum ByteText {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]

    /// `13.2 KiB`, `5 GiB`: powers of 1024, as options take them. Three digits; without decimals when that is exact.
    package static func bytes(_ count: Int64) -> String {
        let (unit, number) = short(count)
        return "\(number) \(units[unit])"
    }

    /// `12,345`.
    package static func grouped(_ count: Int64) -> String {
        let digits = String(count)
        return String(
            digits.enumerated().flatMap { index, digit in
                index > 0 && (digits.count - index) % 3 == 0 && digit != "-" ? [",", digit] : [digit]
            })
    }

    /// A limit as it was given: exact, in the largest unit that needs at most four digits.
    package static func limit(_ count: Int64) -> String {
        let (unit, number) = short(count)
        if Double(number).map({ $0 * scale(unit) }) == Double(count) { return "\(number) \(units[unit])" }
        for smaller in (0..<unit).reversed() where count % Int64(clamping: scale(smaller)) == 0 {
            let exact = count / Int64(clamping: scale(smaller))
            if exact < 10_000 { return "\(exact) \(units[smaller])" }
            break
        }
        return "\(number) \(units[unit])"
    }

    private static func short(_ count: Int64) -> (unit: Int, number: String) {
        var unit = 0
        // 1023.5 KiB and more would be rounded to 1024 KiB.
        while unit < units.count - 1, Double(count) / scale(unit) >= (unit == 0 ? 1024 : 1023.5) { unit += 1 }
        guard unit > 0 else { return (0, "\(count)") }
        let value = Double(count) / scale(unit)
        return (unit, value == value.rounded() ? "\(Int64(clamping: value))" : digits(value))
    }

    private static func scale(_ unit: Int) -> Double { Double(Int64(1) << (10 * Int64(unit))) }

    /// Three significant digits; four from 1000 on.
    package static func digits(_ value: Double) -> String {
        let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        let scale = [1.0, 10, 100][decimals]
        let (scaled, unit) = (Int64(clamping: (value * scale).rounded()), Int64(clamping: scale))
        guard decimals > 0 else { return "\(scaled)" }
        return "\(scaled / unit)." + (scaled % unit).digits(decimals)
    }
}
