import Dispatch
import Synchronization

/// The queue of jobs during their back-off delays, ordered by time.
///
/// When nothing more is to start, all delays end: an interrupted run does not wait for them.
final class RestQueue: Sendable {
    /// A job with its delay, and the work that it shared with other jobs.
    struct Wish {
        let job: ImageJob
        let span: Duration
        var work: WorkKey?
    }

    private struct Rest {
        let end: ContinuousClock.Instant
        let job: ImageJob
        let work: WorkKey?
    }

    private struct State {
        /// The waiting jobs; the next one is the last element.
        var rests: [Rest] = []
        var timer: (any DispatchSourceTimer)?
        /// The jobs whose retry strategy is deciding.
        var undecided: [ObjectIdentifier: ImageJob] = [:]
        var isOver = false
    }

    private let state = Mutex(State())
    private static let queue = DispatchQueue(label: "kf.rests")

    /// Lets the jobs continue after their delays. If nothing more is to start, they are cancelled at once.
    ///
    /// Jobs that shared the same work continue together when the first of them does: they make one request a round, not
    /// one each.
    func rest(_ wishes: [Wish]) {
        for wish in wishes { wish.job.rests() }
        let isOver = state.withLock { state in
            if state.isOver { return true }
            let now = ContinuousClock.now
            for wish in wishes { insert(wish, at: now, &state) }
            arm(&state)
            return false
        }
        for wish in wishes {
            if isOver {
                wish.job.cancel()
            } else if wish.job.isCancelled {
                // The cancellation came before the delay, and found no waiting job.
                forget(wish.job)
            }
        }
    }

    var isEmpty: Bool { state.withLock { $0.rests.isEmpty } }

    /// Lets a job wait with those that have shared this work. Returns false if there are none.
    func join(_ job: ImageJob, _ work: WorkKey) -> Bool {
        guard state.withLock({ $0.rests.contains { $0.work == work } }) else { return false }
        // If their wait ends before this one begins, it is over at once.
        rest([Wish(job: job, span: .zero, work: work)])
        return true
    }

    func rest(_ job: ImageJob, for span: Duration) { rest([Wish(job: job, span: span)]) }

    private func insert(_ wish: Wish, at now: ContinuousClock.Instant, _ state: inout State) {
        let others = wish.work.flatMap { work in state.rests.first { $0.work == work } }
        let rest = Rest(end: others?.end ?? now + wish.span, job: wish.job, work: wish.work)
        let place = state.rests.firstIndex { $0.end <= rest.end } ?? state.rests.endIndex
        state.rests.insert(rest, at: place)
    }

    /// Notes that the job waits for a decision, without a time limit. Returns false when nothing more is to start.
    func beginDeciding(_ job: ImageJob) -> Bool {
        state.withLock { state in
            if !state.isOver { state.undecided[ObjectIdentifier(job)] = job }
            return !state.isOver
        }
    }

    func endDeciding(_ job: ImageJob) {
        state.withLock { _ = $0.undecided.removeValue(forKey: ObjectIdentifier(job)) }
    }

    func isResting(_ job: ImageJob) -> Bool { state.withLock { $0.rests.contains { $0.job === job } } }

    /// Removes the job from the queue.
    func forget(_ job: ImageJob) {
        let forgotten = state.withLock { state -> ImageJob? in
            guard let place = state.rests.firstIndex(where: { $0.job === job }) else { return nil }
            return state.rests.remove(at: place).job
        }
        _ = forgotten
    }

    /// Ends all delays by cancelling their jobs, now and from now on.
    func end() {
        let rests = state.withLock { state in
            state.isOver = true
            state.timer?.cancel()
            state.timer = nil
            defer { (state.rests, state.undecided) = ([], [:]) }
            return state.rests.map(\.job) + state.undecided.values
        }
        for job in rests { job.cancel() }
    }

    private func arm(_ state: inout State) {
        guard let next = state.rests.last?.end else { return }
        if state.timer == nil {
            let timer = DispatchSource.makeTimerSource(queue: Self.queue)
            timer.setEventHandler { [weak self] in self?.wake() }
            timer.activate()
            state.timer = timer
        }
        let span = max(.zero, ContinuousClock.now.duration(to: next))
        let nanoseconds = Int(
            clamping: span.components.seconds.multipliedReportingOverflow(by: 1_000_000_000).partialValue)
        state.timer?.schedule(
            deadline: .now() + .nanoseconds(max(0, nanoseconds) + Int(span.components.attoseconds / 1_000_000_000)))
    }

    private func wake() {
        let due = state.withLock { state -> [ImageJob] in
            let now = ContinuousClock.now
            var due: [ImageJob] = []
            while let next = state.rests.last, next.end <= now {
                due.append(next.job)
                state.rests.removeLast()
            }
            arm(&state)
            return due
        }
        for job in due { job.arrive() }
        Turn.run { $0.jobs = due }
    }
}
