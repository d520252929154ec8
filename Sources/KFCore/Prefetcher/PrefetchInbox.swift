import KFLists
import KFPipeline
import KFStorage
import Synchronization

/// The inbox of a run. The stages post events in arrays, and the run takes all of them at once.
final class PrefetchInbox: ImageRecipient {
    enum Event: Sendable {
        case read(PrefetchBlock)
        case lookedUp(PrefetchFindings)
        case ended([ImageJob])
        /// It is to be exported, unless it is a duplicate.
        case arrived(PrefetchOutcome, DuplicateSieve.Fingerprint?)
        case exported(PrefetchOutcome)
        case told(PrefetchOrder)
        /// The time has come to act again.
        case woken
    }

    private struct State {
        var events: [Event] = []
        var waiter: UnsafeContinuation<[Event], Never>?
    }

    private let state = Mutex(State())

    func post(_ events: [Event]) {
        let waiter = state.withLock { state -> UnsafeContinuation<[Event], Never>? in
            guard let waiter = state.waiter else {
                state.events += events
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: events)
    }

    /// Returns all events since the last call.
    func takeAll() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Returns all events since the last call, and waits until there is one. Allows one caller at a time.
    func next() async -> [Event] {
        await withUnsafeContinuation { continuation in
            let events = state.withLock { state in
                defer { state.events = [] }
                if state.events.isEmpty { state.waiter = continuation }
                return state.events
            }
            if !events.isEmpty { continuation.resume(returning: events) }
        }
    }

    func ended(_ jobs: [ImageJob]) { post([.ended(jobs)]) }
}

/// The items in flight. Used by the run only.
struct PrefetchFlights {
    private let manager: KingfisherManager
    private let inbox: PrefetchInbox
    /// The items by the numbers of their jobs, which are used again.
    private var flights: [(item: PrefetchItem, job: ImageJob)?] = []
    private var free: [Int] = []

    init(_ manager: KingfisherManager, _ inbox: PrefetchInbox) {
        self.manager = manager
        self.inbox = inbox
    }

    /// Starts items. Those that need a fetch are started together.
    mutating func start(_ wishes: [PrefetchWish]) {
        if wishes.isEmpty { return }
        var jobs: [ImageJob] = []
        jobs.reserveCapacity(wishes.count)
        for index in wishes.indices {
            let slot = free.popLast() ?? flights.count
            if slot == flights.count { flights.append(nil) }
            let isOne = wishes[index].retrievals.count == 1
            let job = ImageJob(
                manager, wishes[index].retrievals[0], isOne ? .one : .several(wishes[index].retrievals), for: inbox,
                number: slot, asking: wishes[index].asking)
            flights[slot] = (wishes[index].item, job)
            jobs.append(job)
        }
        ImageJob.start(jobs)
    }

    /// Removes an ended item, and returns its outcome.
    mutating func land(_ job: ImageJob) -> PrefetchOutcome? {
        guard let item = flights[job.number].take()?.item else { return nil }
        free.append(job.number)
        // Most items have one image.
        let isOne = if case .one = job.wanted { true } else { false }
        let one = isOne ? job.result : nil
        let results = one.map { [PrefetchResult($0)] } ?? job.results.map(PrefetchResult.init)
        return PrefetchOutcome(
            item: item, ending: .retrieved(results), attempts: job.attempts, isPinned: job.isPinned, steps: job.steps)
    }

    /// Cancels the items, or only those whose transfer has not started. Each of them then ends as cancelled.
    func cancel(onlyWaiting: Bool = false) {
        for flight in flights {
            if onlyWaiting { flight?.job.cancelUnlessStarted() } else { flight?.job.cancel() }
        }
    }
}
