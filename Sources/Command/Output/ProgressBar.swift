import Dispatch
import Glibc
import KFCore
import Synchronization

/// The progress of a run on standard error: a bar on a terminal, a line every 30 seconds elsewhere.
final class ProgressBar: Sendable {
    enum Style: Sendable, Equatable {
        case none, bar
        case lines(every: Duration)
    }

    private struct Drawing {
        var figures = ProgressFigures()
        var last = ContinuousClock.now
        var isOver = false
    }

    private let style: Style
    private let state = Mutex(Drawing())
    private let expected: @Sendable () -> Int?
    private let uploads: @Sendable () -> (done: Int, total: Int)?
    private let waits: WaitReport
    /// Set once. Dispatch objects are thread-safe, but their Swift type does not say so.
    private nonisolated(unsafe) let timer: (any DispatchSourceTimer)?

    /// `expected`: the number of items, nil while it is unknown; `uploads`: those to a remote that have ended, and all, nil
    /// when none is left. Both are called before each drawing. `delay`: the time before the first one.
    init(
        _ style: Style, _ waits: WaitReport, delay: DispatchTimeInterval? = nil,
        uploads: @escaping @Sendable () -> (done: Int, total: Int)?,
        expected: @escaping @Sendable () -> Int?
    ) {
        self.style = style
        self.waits = waits
        self.uploads = uploads
        self.expected = expected
        let span: DispatchTimeInterval
        switch style {
        case .none:
            timer = nil
            return
        case .bar: span = .milliseconds(100)
        case .lines(let interval): span = .milliseconds(Int(clamping: interval.milliseconds))
        }
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "kf.progress"))
        timer.schedule(deadline: .now() + (style == .bar ? delay ?? span : span), repeating: span)
        self.timer = timer
        timer.setEventHandler { [weak self] in self?.draw() }
        timer.resume()
    }

    /// Changes the figures. The timer draws them later.
    func update(_ change: (inout ProgressFigures) -> Void) {
        guard style != .none else { return }
        state.withLock { change(&$0.figures) }
    }

    func end() {
        guard style != .none else { return }
        timer?.cancel()
        state.withLock { $0.isOver = true }
        if style == .bar { Session.current.line.clear() }
    }

    private func draw() {
        let (expected, uploads) = (expected(), uploads())
        // Drawn under the lock, so that nothing is drawn after `end`.
        state.withLock { state in
            guard !state.isOver else { return }
            state.figures.expected = expected
            state.figures.uploads = uploads
            state.figures.wait = waits.longest
            let now = ContinuousClock.now
            state.figures.measure(seconds: state.last.duration(to: now) / .seconds(1))
            state.last = now
            switch style {
            case .none: break
            case .bar: Session.current.line.show { state.figures.line(width: $0) }
            case .lines: Terminal.printError("kf: \(state.figures.line(width: 200, bar: false))")
            }
        }
    }
}

extension ProgressBar.Style {
    /// The style for `--progress` on this terminal; `-q` turns progress off.
    init(_ choice: ProgressChoice, quiet: Bool, interval: Duration = .seconds(30)) {
        switch choice {
        case _ where quiet: self = .none
        case .never: self = .none
        case .always: self = .bar
        case .auto:
            let session = Session.current
            let isDumb = session.environment["TERM"].map { $0.isEmpty || $0 == "dumb" } ?? true
            self = Terminal.isTerminal(session.errors) && !isDumb ? .bar : .lines(every: interval)
        }
    }
}

/// The figures of a run, and their text for a given width.
struct ProgressFigures: Sendable {
    var progress = PrefetchProgress()
    /// The bytes that the run has received, and the work on its items in flight; nil for uploads alone.
    var tally: RunTally?
    /// The number of images that are made of each source.
    var imagesPerItem = 0
    /// The number of items; nil while it is unknown.
    var expected: Int?
    /// The uploads to a remote that have ended, and all; nil when none is left.
    var uploads: (done: Int, total: Int)?
    /// The host that gets no requests for a while, and how long; nil when there is none.
    var wait: (host: String, seconds: Int)?
    /// Whether only uploads are left.
    var isOver = false
    /// The size of the only download in bytes: its bytes are then shown in place of items. Nil without such a download,
    /// and zero while the size is unknown.
    var size: Int64?
    /// The bytes of that download that are here.
    var received: Int64 = 0

    /// Images or items, transfers with the images made of them, and bytes per second, as moving averages.
    private(set) var itemRate = MovingRate(memory: 5)
    private(set) var byteRate = MovingRate(memory: 5)
    /// Transfers may take long, so that this forgets slowly.
    private(set) var transferRate = MovingRate(memory: 30)

    private static let widestBar = 30
    private static let narrowestBar = 8

    private var transfers: Int { progress.completed + progress.failed - progress.remembered }

    private var done: Int { progress.finished - progress.notTried }

    /// The steps of one item: its source, and the images made of it.
    private var stepsPerItem: Int { 1 + imagesPerItem }

    /// The sources that are here, and the images that are made of them. Where no image is made, an item is one step.
    private var steps: RunTally.Steps {
        guard imagesPerItem > 0 else { return RunTally.Steps(sources: done) }
        let underWay = tally?.underWay ?? RunTally.Steps()
        return RunTally.Steps(sources: done + underWay.sources, images: done * imagesPerItem + underWay.images)
    }

    /// The steps of transfers, those of items in flight included.
    private var work: Int { (transfers - done) * stepsPerItem + steps.sources + steps.images }

    /// The seconds since the start.
    private var elapsed = 0.0
    /// The time and the share of the work before which the remaining time is not estimated.
    private static let (earliestSeconds, earliestShare) = (3.0, 0.05)

    private var bytes: Int64 { size == nil ? tally.map { $0.bytes + $0.remoteBytes } ?? 0 : received }

    mutating func measure(seconds: Double) {
        guard seconds > 0 else { return }
        elapsed += seconds
        itemRate.add(Double(imagesPerItem > 0 ? steps.images : done), seconds)
        byteRate.add(Double(bytes), seconds)
        // The time of cached items before the first transfer says nothing about transfers.
        if work > 0 || progress.outlook.waiting > 0 { transferRate.add(Double(work), seconds) }
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
        let filled = Int(clamping: fraction * Double(space))
        return "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: space - filled))] \(text)"
    }

    private static func length(_ parts: [String]) -> Int { parts.reduce(-2) { $0 + $1.count + 2 } }

    private var fraction: Double? {
        if let size {
            guard size > 0 else { return nil }
            return min(1, (Double(bytes) / Double(size) + Double(steps.images)) / Double(stepsPerItem))
        }
        guard let expected, expected > 0 else { return nil }
        return min(1, Double(steps.sources + steps.images) / Double(expected * stepsPerItem))
    }

    /// The most important figures come first, since the end is cut off on a narrow terminal.
    private var parts: [String] {
        var parts: [String] = []
        if isOver, let uploads {
            return [Self.text(uploads)]
        }
        if let size {
            let percent = fraction.map { "\(Int(clamping: $0 * 100))% " } ?? ""
            parts.append(percent + ByteText.bytes(bytes) + (size > 0 ? "/\(ByteText.bytes(size))" : ""))
            if let left { parts.append("\(left) left") }
            parts.append("\(ByteText.bytes(Int64(clamping: byteRate.value)))/s")
            if imagesPerItem > 1 { parts.append("\(steps.images)/\(imagesPerItem) images") }
            return parts
        }
        if let expected, let fraction {
            let (all, steps) = (max(expected, done), steps)
            let percent = "\(Int(clamping: fraction * 100))%"
            if imagesPerItem > 0 {
                parts.append("\(percent) \(min(all, steps.sources))/\(all) sources")
                parts.append("\(steps.images)/\(all * imagesPerItem) images")
            } else {
                parts.append("\(percent) \(done)/\(all)")
            }
        } else {
            parts.append(imagesPerItem > 0 ? "\(steps.sources) sources, \(steps.images) images" : "\(done) done")
        }
        if let wait { parts.append("waiting \(wait.seconds) s for \(Terminal.visible(wait.host))") }
        if progress.failed > 0 { parts.append("\(progress.failed) failed") }
        let leftOut = progress.filtered + progress.optedOut + progress.duplicates
        if leftOut > 0 { parts.append("\(leftOut) left out") }
        if let left { parts.append("\(left) left") }
        if let rate = itemRate.text { parts.append(rate) }
        parts.append(ByteText.bytes(bytes))
        parts.append("\(ByteText.bytes(Int64(clamping: byteRate.value)))/s")
        if progress.skipped > 0 { parts.append("\(progress.skipped) cached") }
        if let uploads { parts.append(Self.text(uploads)) }
        return parts
    }

    private static func text(_ uploads: (done: Int, total: Int)) -> String {
        "uploading \(ByteText.grouped(Int64(uploads.done))) of \(ByteText.grouped(Int64(uploads.total)))"
    }

    /// The remaining time. Only transfers count: a list may begin with all that is cached. Nil before the first
    /// transfer, when none is expected, for the first moments, and while too few end to tell.
    private var left: String? {
        guard elapsed >= Self.earliestSeconds || (fraction ?? 0) >= Self.earliestShare else { return nil }
        let seconds: Double
        if let size {
            guard size > bytes, byteRate.value > 0 else { return nil }
            seconds = Double(size - bytes) / byteRate.value
        } else {
            guard let expected, expected > done, work > 0, transferRate.isTelling else { return nil }
            let transfers = progress.outlook.transfers(unread: max(0, expected - done - progress.outlook.waiting))
            guard transfers >= 0.5 else { return nil }
            let underWay = work - self.transfers * stepsPerItem
            seconds = max(0, transfers * Double(stepsPerItem) - Double(underWay)) / transferRate.value
        }
        guard seconds < 360_000 else { return nil }
        let whole = Int(clamping: seconds.rounded(.up))
        let (hours, minutes) = (whole / 3600, whole / 60 % 60)
        let rest = (whole % 60).digits(2)
        return hours > 0 ? "\(hours):\(minutes.digits(2)):\(rest)" : "\(minutes):\(rest)"
    }
}

/// A rate per second, as a moving average.
struct MovingRate: Sendable {
    private(set) var value = 0.0
    /// The time constant in seconds.
    private let memory: Double
    private var last = 0.0
    private var measured = 0.0
    /// The time since the count has last changed, in seconds.
    private var quiet = 0.0

    init(memory: Double) { self.memory = memory }

    /// Whether the rate tells about the near future: something is counted within the memory, and the count does not stand
    /// still.
    var isTelling: Bool { value * memory >= 1 && quiet <= max(10, 5 * measured / max(1, last)) }

    /// `12/s`, or `3/min`; nil for less than one a minute.
    var text: String? {
        let (second, minute) = (Int(clamping: value.rounded()), Int(clamping: (value * 60).rounded()))
        return second > 0 ? "\(second)/s" : minute > 0 ? "\(minute)/min" : nil
    }

    /// Adds what was counted in the last `seconds`, up to `count` in all.
    mutating func add(_ count: Double, _ seconds: Double) {
        measured += seconds
        quiet = count == last ? quiet + seconds : 0
        // A plain average at first; then older figures fade.
        let weight = max(seconds / measured, 1 - 1 / (1 + seconds / memory))
        value += ((count - last) / seconds - value) * weight
        last = count
    }
}
