import Synchronization

/// A result that is given out before the work that brought it has ended. The first one counts.
final class EarlyResult: Sendable {
    typealias Outcome = Result<RetrieveImageResult, KingfisherError>

    private enum State {
        case open
        case awaited(CheckedContinuation<Outcome, Never>)
        case given(Outcome)
        case taken
    }

    private let state = Mutex(State.open)

    var isOpen: Bool {
        state.withLock { state in
            switch state {
            case .open, .awaited: true
            case .given, .taken: false
            }
        }
    }

    func give(_ outcome: Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            switch state {
            case .open:
                state = .given(outcome)
                return nil
            case .awaited(let waiter):
                state = .taken
                return waiter
            case .given, .taken: return nil
            }
        }
        waiter?.resume(returning: outcome)
    }

    /// To be called once.
    func value() async -> Outcome {
        await withCheckedContinuation { continuation in
            let given = state.withLock { state -> Outcome? in
                if case .given(let outcome) = state {
                    state = .taken
                    return outcome
                }
                state = .awaited(continuation)
                return nil
            }
            if let given { continuation.resume(returning: given) }
        }
    }
}
