import KFStorage
import Synchronization

/// The inbox of a run. The stages post events in arrays, and the run takes all of them at once.
final class PrefetchInbox: ImageRecipient, VariantsRecipient {
    enum Event: Sendable {
        case read(PrefetchBlock)
        case ended([EndedImage])
        case variants(VariantsJob, [Result<RetrieveImageResult, KingfisherError>])
        case exported(PrefetchOutcome)
        case told(PrefetchOrder)
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

    func take(_ ended: [EndedImage]) { post([.ended(ended)]) }

    func take(_ job: VariantsJob, _ results: [Result<RetrieveImageResult, KingfisherError>]) {
        post([.variants(job, results)])
    }
}

/// The items in flight. Used by the run only.
struct PrefetchFlights {
    private enum Job {
        case image(ImageJob)
        case variants(VariantsJob)

        func cancel(onlyWaiting: Bool) {
            switch self {
            case .image(let job): if onlyWaiting { job.cancelUnlessStarted() } else { job.cancel() }
            case .variants(let job): if onlyWaiting { job.cancelUnlessStarted() } else { job.cancel() }
            }
        }
    }

    private let manager: KingfisherManager
    private let forms: [OptionsBox]
    private let inbox: PrefetchInbox
    /// The items by the numbers of their jobs, which are used again.
    private var flights: [(item: PrefetchItem, job: Job)?] = []
    private var free: [Int] = []

    init(_ manager: KingfisherManager, _ forms: [OptionsBox], _ inbox: PrefetchInbox) {
        self.manager = manager
        self.forms = forms
        self.inbox = inbox
    }

    /// Starts items. Those that need a fetch are started together.
    mutating func start(_ wishes: ArraySlice<PrefetchWish>) {
        if wishes.isEmpty { return }
        var jobs: [ImageJob] = []
        jobs.reserveCapacity(wishes.count)
        for index in wishes.indices {
            var retrievals = wishes[index].retrievals
            if retrievals.isEmpty, case .success(let source) = wishes[index].item.source {
                retrievals = forms.map { Retrieval(source, wishes[index].item.options($0), manager.cache) }
            }
            let slot = free.popLast() ?? flights.count
            if slot == flights.count { flights.append(nil) }
            if retrievals.count == 1 {
                let job = ImageJob(manager, retrievals[0], for: inbox, number: slot)
                (job.hasLooked, job.commitsSeen) = (wishes[index].isKnownMissing, wishes[index].commitsSeen)
                flights[slot] = (wishes[index].item, .image(job))
                jobs.append(job)
            } else {
                let job = VariantsJob(manager, retrievals.map { .success($0) }, for: inbox, number: slot)
                flights[slot] = (wishes[index].item, .variants(job))
                job.start()
            }
        }
        manager.start(jobs)
    }

    /// Removes an ended item, and returns its outcome.
    mutating func land(_ slot: Int, _ results: [PrefetchResult], attempts: Int) -> PrefetchOutcome? {
        guard let item = flights[slot].take()?.item else { return nil }
        free.append(slot)
        return PrefetchOutcome(item: item, ending: .retrieved(results), attempts: attempts)
    }

    /// Cancels the items, or only those whose transfer has not started. Each of them then ends as cancelled.
    func cancel(onlyWaiting: Bool = false) {
        for flight in flights { flight?.job.cancel(onlyWaiting: onlyWaiting) }
    }
}
