import Dispatch
import Glibc
import KFCore
import Synchronization

/// The progress of a run on standard error: a bar on a terminal, a line every ten seconds elsewhere.
final class ProgressBar: Sendable {
    enum Style: Sendable { case none, bar, lines }

    private struct State {
        var figures = ProgressFigures()
        var last = ContinuousClock.now
        var isOver = false
    }

    private let style: Style
    private let state = Mutex(State())
    private let expected: @Sendable () -> Int?
    /// Set once. Dispatch objects are thread-safe, but their Swift type does not say so.
    private nonisolated(unsafe) let timer: (any DispatchSourceTimer)?

    /// `expected`: the number of items, nil while it is unknown; called before each drawing.
    init(_ style: Style, expected: @escaping @Sendable () -> Int?) {
        self.style = style
        self.expected = expected
        guard style != .none else {
            timer = nil
            return
        }
        let span: DispatchTimeInterval = style == .bar ? .milliseconds(100) : .seconds(10)
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "kf.progress"))
        timer.schedule(deadline: .now() + span, repeating: span)
        self.timer = timer
        timer.setEventHandler { [weak self] in self?.draw() }
        timer.resume()
    }

    /// Changes the figures. The timer draws them later.
    func update(_ change: (inout ProgressFigures) -> Void) {
        guard style != .none else { return }
        state.withLock { change(&$0.figures) }
    }

    /// Removes the bar for good.
    func end() {
        guard style != .none else { return }
        timer?.cancel()
        state.withLock { $0.isOver = true }
        if style == .bar { StatusLine.clear() }
    }

    private func draw() {
        let expected = expected()
        // Drawn under the lock, so that nothing is drawn after `end`.
        state.withLock { state in
            guard !state.isOver else { return }
            state.figures.expected = expected
            let now = ContinuousClock.now
            let (seconds, attoseconds) = state.last.duration(to: now).components
            state.figures.measure(seconds: Double(seconds) + Double(attoseconds) / 1e18)
            state.last = now
            switch style {
            case .none: break
            case .bar: StatusLine.show(state.figures.line(width: StatusLine.width))
            case .lines: Terminal.printError("kf: \(state.figures.line(width: 200, bar: false))")
            }
        }
    }
}

extension ProgressBar.Style {
    /// The style for `--progress` on this terminal; `-q` turns progress off.
    init(_ choice: ProgressChoice, quiet: Bool) {
        guard !quiet else {
            self = .none
            return
        }
        switch choice {
        case .never: self = .none
        case .always: self = .bar
        case .auto:
            let isDumb = Environment.current["TERM"].map { $0.isEmpty || $0 == "dumb" } ?? true
            self = Terminal.isTerminal(STDERR_FILENO) && !isDumb ? .bar : .lines
        }
    }
}

/// The figures of a run, and their text for a given width.
struct ProgressFigures: Sendable {
    var completed = 0
    var skipped = 0
    var failed = 0
    var bytes: Int64 = 0
    /// The number of items; nil while it is unknown.
    var expected: Int?

    /// Items and bytes per second, as moving averages.
    private(set) var itemRate = 0.0
    private(set) var byteRate = 0.0
    private var lastDone = 0
    private var lastBytes: Int64 = 0
    private var measured = 0.0

    private static let widestBar = 30
    private static let narrowestBar = 8
    /// The time constant of the averages, in seconds.
    private static let memory = 5.0

    var done: Int { completed + skipped + failed }

    /// Updates the averages with the last `seconds`.
    mutating func measure(seconds: Double) {
        guard seconds > 0 else { return }
        measured += seconds
        // A plain average at first; then older figures fade.
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

    /// The most important figures come first, since the end is cut off on a narrow terminal.
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
        if skipped > 0 { parts.append("\(skipped) already cached") }
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
