import Dispatch
import Glibc
import KFCore
import Synchronization

/// The exit status of the process. Of several the gravest counts: a signal, wrong usage, the cache, an early stop,
/// single items.
enum ExitStatus: Int32, Comparable {
    case success = 0
    case someFailed = 1
    case usage = 2
    /// The cache or the destination of a whole run failed, not only single items.
    case cacheFailed = 3
    case stoppedEarly = 4
    case interrupted = 130
    case terminated = 143

    /// All of them, the gravest last.
    private static let order: [ExitStatus] = [
        .success, .someFailed, .stoppedEarly, .cacheFailed, .usage, .interrupted, .terminated,
    ]

    static func < (a: ExitStatus, b: ExitStatus) -> Bool { order.prefix { $0 != b }.contains(a) }

    mutating func raise(to status: ExitStatus) { self = max(self, status) }
}

/// Handles SIGINT and SIGTERM: the first asks the run to end, the second ends the process. With `patience`, so does its
/// passing.
final class Interrupts {
    private struct Actions {
        let first: @Sendable (Int32) -> Void
        let second: @Sendable () -> Void
    }

    private final class Record: Sendable {
        let signal = Atomic<Int32>(0)
        let time = Mutex(ContinuousClock.now)
        let actions: Mutex<Actions>

        init(_ actions: Actions) { self.actions = Mutex(actions) }
    }

    /// The time in which the same signal counts once: `timeout` sends it to the process and to its group.
    private static let repetition = Duration.milliseconds(100)

    private let record: Record
    private let queue = DispatchQueue(label: "kf.signals")
    private var sources: [any DispatchSourceSignal] = []

    /// `first` and `second` run on a thread of their own; the process exits after `second`.
    init(
        patience: DispatchTimeInterval? = nil, first: @escaping @Sendable (Int32) -> Void,
        second: @escaping @Sendable () -> Void
    ) {
        record = Record(Actions(first: first, second: second))
        let timer = DispatchQueue(label: "kf.signals.timer")
        // Else a signal would end the process before its source sees it. Threads inherit the mask, and a thread that
        // cannot be started ends the process with the signal that waits.
        var handled = sigset_t()
        sigemptyset(&handled)
        for number in [SIGINT, SIGTERM] { sigaddset(&handled, number) }
        pthread_sigmask(SIG_BLOCK, &handled, nil)
        for number in [SIGINT, SIGTERM] {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            let end = { @Sendable [record] () -> Void in
                record.actions.withLock(\.second)()
                // The network thread is still running, so that destructors cannot run safely.
                _exit(128 + number)
            }
            source.setEventHandler { [record] in
                guard record.signal.compareExchange(expected: 0, desired: number, ordering: .relaxed).exchanged else {
                    let isRepeated =
                        record.signal.load(ordering: .relaxed) == number
                        && record.time.withLock { $0.duration(to: .now) } < Self.repetition
                    return isRepeated ? () : end()
                }
                record.time.withLock { $0 = .now }
                // On a queue of its own, so that it counts while `first` works.
                if let patience { timer.asyncAfter(deadline: .now() + patience, execute: end) }
                record.actions.withLock(\.first)(number)
            }
            source.resume()
            sources.append(source)
        }
    }

    /// Handles the signals while a run is prepared: the first cancels what `manager` has begun, and starts nothing more.
    convenience init(patience: DispatchTimeInterval? = nil, preparing manager: KingfisherManager) {
        self.init(patience: patience, first: { _ in Self.endPreparing(manager) }) {
            manager.cache.discardTemporaries()
        }
    }

    static func endPreparing(_ manager: KingfisherManager) {
        manager.downloader.drain()
        manager.downloader.cancelAll()
        manager.cache.endWaiting(within: .zero)
    }

    /// Replaces what the signals do. A signal that has come already counts as the first one again.
    func handle(first: @escaping @Sendable (Int32) -> Void, second: @escaping @Sendable () -> Void) {
        queue.sync { [record] in
            record.actions.withLock { $0 = Actions(first: first, second: second) }
            let number = record.signal.load(ordering: .relaxed)
            if number != 0 { first(number) }
        }
    }

    /// The message that tells what the first signal does.
    static func announcement(of number: Int32, finishing downloads: Int, within grace: Duration?) -> String {
        let span = grace.map { " within \(WaitReport.text($0))" } ?? ""
        let what = downloads == 0 ? "stopping" : "finishing \(EntryText.count(downloads, "download"))\(span)"
        return number == SIGINT
            ? "kf: \(what); press Ctrl-C again to stop now" : "kf: terminated, \(what); a second SIGTERM stops now"
    }

    /// The exit status for the signal that came; nil when none came.
    var status: ExitStatus? { ExitStatus(rawValue: 128 + record.signal.load(ordering: .relaxed)) }
}

/// Runs asynchronous work from the main thread, which waits for it.
enum Blocking {
    static func wait<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Value?>(nil)
        Task {
            let value = await work()
            result.withLock { $0 = value }
            done.signal()
        }
        while true {
            done.wait()
            if let value = result.withLock({ $0 }) { return value }
        }
    }
}
