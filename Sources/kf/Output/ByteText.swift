/// Numbers for people.
enum ByteText {
    /// `13.0 kB`, `4.20 GB`: powers of 1000, three digits.
    static func bytes(_ count: Int64) -> String {
        let units = ["B", "kB", "MB", "GB", "TB", "PB"]
        var value = Double(count)
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\(digits(value)) \(units[unit])"
    }

    static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let value = Double(seconds) + Double(attoseconds) / 1e18
        return value < 1 ? "\(digits(value * 1000)) ms" : "\(digits(value)) s"
    }

    /// Three of them.
    private static func digits(_ value: Double) -> String {
        let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        let scale = [1.0, 10, 100][decimals]
        let scaled = Int64((value * scale).rounded())
        guard decimals > 0 else { return "\(scaled)" }
        let fraction = "\(scaled % Int64(scale))"
        return "\(scaled / Int64(scale))." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }
}
