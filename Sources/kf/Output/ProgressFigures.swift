/// How far a run is, in numbers, and in words for a given width.
struct ProgressFigures: Sendable {
    var completed = 0
    var skipped = 0
    var failed = 0
    var bytes: Int64 = 0
    /// How many there will be; nil while nobody knows.
    var expected: Int?

    /// Items and bytes a second, of late.
    private(set) var itemRate = 0.0
    private(set) var byteRate = 0.0
    private var lastDone = 0
    private var lastBytes: Int64 = 0
    private var measured = 0.0

    private static let widestBar = 30
    private static let narrowestBar = 8
    /// What is older than some seconds says little about what comes.
    private static let memory = 5.0

    var done: Int { completed + skipped + failed }

    /// Takes in what has happened in the last `seconds`.
    mutating func measure(seconds: Double) {
        guard seconds > 0 else { return }
        measured += seconds
        // The first figures are a plain average; from then on the old ones fade.
        let weight = max(seconds / measured, 1 - 1 / (1 + seconds / Self.memory))
        itemRate += (Double(done - lastDone) / seconds - itemRate) * weight
        byteRate += (Double(bytes - lastBytes) / seconds - byteRate) * weight
        lastDone = done
        lastBytes = bytes
    }

    /// At most `width - 1` characters: a full row makes some terminals scroll.
    func line(width: Int, bar: Bool = true) -> String {
        let room = width - 1
        var parts = self.parts
        while parts.count > 1, Self.length(parts) > room { parts.removeLast() }
        let text = parts.joined(separator: ", ")
        guard text.count <= room else { return String(text.prefix(max(0, room))) }
        guard bar, let fraction else { return text }
        let space = min(Self.widestBar, room - text.count - 3)
        guard space >= Self.narrowestBar else { return text }
        let filled = Int(fraction * Double(space))
        return "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: space - filled))] \(text)"
    }

    private static func length(_ parts: [String]) -> Int { parts.reduce(-2) { $0 + $1.count + 2 } }

    private var fraction: Double? {
        guard let expected, expected > 0 else { return nil }
        return min(1, Double(done) / Double(expected))
    }

    /// What matters most comes first.
    private var parts: [String] {
        var parts: [String] = []
        if let expected, let fraction {
            parts.append("\(Int(fraction * 100))% \(done)/\(max(expected, done))")
        } else {
            parts.append("\(done) done")
        }
        if failed > 0 { parts.append("\(failed) failed") }
        if let left { parts.append("\(left) left") }
        parts.append("\(Int(itemRate.rounded()))/s")
        parts.append(ByteText.bytes(bytes))
        parts.append("\(ByteText.bytes(Int64(byteRate)))/s")
        if skipped > 0 { parts.append("\(skipped) in the cache already") }
        return parts
    }

    private var left: String? {
        guard let expected, expected > done, itemRate > 0 else { return nil }
        let seconds = Double(expected - done) / itemRate
        guard seconds < 360_000 else { return nil }
        let whole = Int(seconds.rounded(.up))
        let (hours, minutes) = (whole / 3600, whole / 60 % 60)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(whole % 60))" : "\(minutes):\(two(whole % 60))"
    }
}
