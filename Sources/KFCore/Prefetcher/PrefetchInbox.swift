import Synchronization

/// Where the stages of a run meet: what has happened is put in, in arrays, and the run takes all of it at once.
final class PrefetchInbox: ImageRecipient, VariantsRecipient {
    enum Event: Sendable {
        case read(Result<PrefetchBlock, KingfisherError>)
        case ended([EndedImage])
        case variants(VariantsJob, [Result<RetrieveImageResult, KingfisherError>])
        case exported([PrefetchOutcome])
        case reached(RunDeadline.Phase)
        case stopped
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

    /// All that has happened since the last call; waits until something has. One caller at a time.
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
