import Dispatch
import Glibc
import Synchronization

/// The times that cancelled calls took to end.
final class CancellationTimes: Sendable {
    private struct State {
        var next = 0
        var underWay: [Int: ContinuousClock.Instant] = [:]
        /// Of each cancelled call the time that `cancel` took, and that until its end.
        var spans: [(cancel: Duration, call: Duration)] = []
        var completed = 0
        var faults: [String: Int] = [:]
    }

    private let state = Mutex(State())
    private let count: Int
    private let limit: Duration

    init(count: Int, limit: Duration) {
        self.count = count
        self.limit = limit
    }

    /// Returns the number of the next call; nil when enough calls have ended because they were cancelled.
    func next() -> Int? {
        state.withLock { state in
            if state.spans.count >= count { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    /// Notes that a call is cancelled now.
    func begin(_ number: Int) -> ContinuousClock.Instant {
        state.withLock { state in
            let now = ContinuousClock.now
            state.underWay[number] = now
            return now
        }
    }

    /// Notes the end of a call, which may have come before its cancellation.
    func end(_ number: Int, wasCancelled: Bool, cancel: Duration, call: Duration) {
        state.withLock { state in
            state.underWay[number] = nil
            if wasCancelled { state.spans.append((cancel, max(call, .zero))) } else { state.completed += 1 }
        }
    }

    func fault(_ text: String) { state.withLock { $0.faults[text, default: 0] += 1 } }

    /// Stops the process with SIGSTOP while a call is overdue, if `KF_STOP_OVERDUE` is set: a debugger then shows what
    /// all threads wait for.
    func watch() {
        guard getenv("KF_STOP_OVERDUE") != nil else { return }
        DispatchQueue(label: "watch").async { [self] in
            while true {
                usleep(20_000)
                let isOverdue = state.withLock { state in state.underWay.values.contains { .now - $0 > limit } }
                if isOverdue { kill(getpid(), SIGSTOP) }
            }
        }
    }

    /// Prints the times. Returns whether all calls ended in time, and none failed.
    @discardableResult
    func report(_ name: String) -> Bool {
        state.withLock { state in
            let spans = state.spans.map(\.call).sorted()
            guard let longest = spans.last, let slowest = state.spans.map(\.cancel).max() else { return false }
            let shares = [0.5, 0.9, 0.99, 0.999, 0.9999].map { share in
                "\(share * 100) % \(Self.text(spans[Int(Double(spans.count) * share)]))"
            }
            print(
                "\(name): \(spans.count), beside \(state.completed) that had ended before:",
                shares.joined(separator: ", ") + ", longest \(Self.text(longest));",
                "the longest call of cancel took \(Self.text(slowest))")
            for (text, count) in state.faults { print("fault: \(text) (\(count) times)") }
            let late = spans.count { $0 > limit }
            if late > 0 { print("fault: \(late) \(name) took longer than \(limit)") }
            return late == 0 && state.faults.isEmpty
        }
    }

    private static func text(_ span: Duration) -> String { "\(Double(Int(span / .microseconds(1))) / 1000) ms" }
}
