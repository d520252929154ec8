import Synchronization

/// A hold on one transfer while it waits or runs. Given with its request; of use to one transfer only.
package final class TransferControl: Sendable {
    /// What the engine is told.
    enum Order: Sendable {
        case priority(Float)
        case resume
    }

    private struct State {
        var priority: Float?
        var tell: (@Sendable (Order) -> Void)?
    }

    private let state = Mutex(State())
    private let paused = Atomic<Bool>(false)

    package init() {}

    /// Moves the transfer among those that wait. What runs already is not changed.
    package func setPriority(_ priority: Float) {
        let tell = state.withLock { state in
            state.priority = priority
            return state.tell
        }
        tell?(.priority(priority))
    }

    /// The sink gets no more bytes until `resume()`: none after this has returned when it is called from the sink, at
    /// most one more piece otherwise. The server is held up by TCP; what libcurl keeps meanwhile is bounded. The stall
    /// timer stands still, `maxTime` does not.
    package func pause() { paused.store(true, ordering: .releasing) }

    package func resume() {
        guard paused.exchange(false, ordering: .acquiringAndReleasing) else { return }
        state.withLock { $0.tell }?(.resume)
    }

    var isPaused: Bool { paused.load(ordering: .acquiring) }

    /// Connects the control with its transfer; gives the priority that was asked for before.
    func attach(_ tell: @escaping @Sendable (Order) -> Void) -> Float? {
        state.withLock { state in
            state.tell = tell
            return state.priority
        }
    }

    /// Whether the transfer has reached the engine and not left it.
    var isAttached: Bool { state.withLock { $0.tell != nil } }

    func detach() { state.withLock { $0.tell = nil } }
}
