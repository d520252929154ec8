import Synchronization

/// Commands on their way to the loop. As long as the callers make it: each entry is a suspended caller's, or one word
/// about one. The loop is woken once per sleep, not once per command.
final class Mailbox: Sendable {
    private struct State {
        var commands: [Command] = []
        var waker: MultiHandle.Waker?
        var isAsleep = false
        var isClosed = false
    }

    private let state = Mutex(State())

    /// False when the loop has ended and nobody will read.
    func post(_ command: Command) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            if state.isAsleep {
                state.isAsleep = false
                // Under the lock, so that the handle behind it cannot be freed meanwhile; a write to a socket pair.
                state.waker?.wake()
            }
            return true
        }
    }

    func attach(_ waker: MultiHandle.Waker) { state.withLock { $0.waker = waker } }

    /// Everything posted so far.
    func take() -> [Command] {
        state.withLock { state in
            state.isAsleep = false
            guard !state.commands.isEmpty else { return [] }
            let commands = state.commands
            state.commands = []
            state.commands.reserveCapacity(min(commands.count, 1024))
            return commands
        }
    }

    /// True when nothing is there; from then on the next command wakes the loop.
    func sleeps() -> Bool {
        state.withLock { state in
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
    }

    /// Ends the intake and returns what nobody has read.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            state.waker = nil
            defer { state.commands = [] }
            return state.commands
        }
    }
}

/// What other threads want of the loop.
enum Command: Sendable {
    case start([TransferStart])
    case cancel(UInt64)
    case prioritize(UInt64, Float)
    /// The control of the transfer is no longer paused.
    case resume(UInt64)
    /// What the transfer's question number so-and-so came to.
    case decide(UInt64, question: Int, Decision)
    /// Which of the transfers start, in the order of the questions.
    case admit([AdmissionQuestion], [Bool])
    case pause(host: String, until: MonotonicTime)
    /// Whether nothing new starts for now.
    case hold(Bool)
    /// From now on nothing starts; what runs goes on.
    case drain
    case stop
}

/// One transfer's question whether its hop starts.
struct AdmissionQuestion: Sendable {
    let transfer: UInt64
    let question: Int
}
