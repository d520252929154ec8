import Dispatch
import Glibc
import Synchronization

/// Says on standard error how far a run is: a bar that is drawn over again on a terminal, a line every ten seconds
/// elsewhere.
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
    /// Set once; dispatch objects may be used from any thread, which their Swift type does not say.
    private nonisolated(unsafe) let timer: (any DispatchSourceTimer)?

    /// `expected`: how many items there will be, as far as that is known; asked each time that something is drawn.
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

    /// Takes in how far the run is; drawn when its time comes.
    func update(_ change: (inout ProgressFigures) -> Void) {
        guard style != .none else { return }
        state.withLock { change(&$0.figures) }
    }

    /// Takes the bar away; nothing is drawn from then on.
    func end() {
        guard style != .none else { return }
        timer?.cancel()
        state.withLock { $0.isOver = true }
        if style == .bar { StatusLine.clear() }
    }

    private func draw() {
        let expected = expected()
        // Drawn under the lock, so that nothing is drawn behind the end.
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
    /// What `--progress` and the terminal make of it; with `-q` there is none.
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

/// The values of `--progress`.
enum ProgressChoice: String, CaseIterable {
    case auto, always, never
}
