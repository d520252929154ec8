import Synchronization

/// A handle for the priority and the pausing of one transfer while it waits or runs. It is passed with the request and
/// serves one transfer only.
package final class TransferControl: Sendable {
    /// A command for the engine.
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

    /// Changes the transfer's priority in the queue. Has no effect on a running transfer.
    package func setPriority(_ priority: Float) {
        let tell = state.withLock { state in
            state.priority = priority
            return state.tell
        }
        tell?(.priority(priority))
    }

    /// Stops the delivery of bytes to the sink until `resume()`. Called from the sink, it takes effect at once; called
    /// elsewhere, the sink may get one more piece.
    ///
    /// TCP's back-pressure stops the server, and libcurl's own buffer is bounded. The stall timer is suspended;
    /// `maxTime` keeps running.
    package func pause() { paused.store(true, ordering: .releasing) }

    package func resume() {
        guard paused.exchange(false, ordering: .acquiringAndReleasing) else { return }
        state.withLock { $0.tell }?(.resume)
    }

    var isPaused: Bool { paused.load(ordering: .acquiring) }

    /// Connects the control to its transfer. Returns the priority that was set before, if any.
    func attach(_ tell: @escaping @Sendable (Order) -> Void) -> Float? {
        state.withLock { state in
            state.tell = tell
            return state.priority
        }
    }

    /// Whether the transfer is in the engine: queued, resting or running.
    var isAttached: Bool { state.withLock { $0.tell != nil } }

    func detach() { state.withLock { $0.tell = nil } }
}
