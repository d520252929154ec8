import Synchronization

/// The queue of commands for the loop. It is unbounded: each command starts a transfer or refers to one. The loop is
/// woken once per sleep, not once per command.
final class Mailbox: Sendable {
    private struct State {
        var commands: [Command] = []
        var waker: MultiHandle.Waker?
        var isAsleep = false
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Queues a command and wakes the loop if it sleeps. Returns false if the loop has ended.
    func post(_ command: Command) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            if state.isAsleep {
                state.isAsleep = false
                // Under the lock, so that the eventfd cannot be closed meanwhile.
                state.waker?.wake()
            }
            return true
        }
    }

    func attach(_ waker: MultiHandle.Waker) { state.withLock { $0.waker = waker } }

    /// Removes and returns the commands posted so far.
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

    /// Returns true if the queue is empty; the next command then wakes the loop.
    func sleeps() -> Bool {
        state.withLock { state in
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
    }

    /// Refuses further commands and returns the unread ones.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            state.waker = nil
            defer { state.commands = [] }
            return state.commands
        }
    }
}

/// A command from another thread to the loop.
enum Command: Sendable {
    case start([TransferStart])
    case cancel(UInt64)
    case prioritize(UInt64, Float)
    /// Delivers the answer to the transfer's question with that number.
    case decide(UInt64, question: Int, Verdict)
    /// Admits or refuses transfers, in the order of the questions.
    case admit([AdmissionQuestion], [Bool])
    case pause(host: String, until: MonotonicTime)
    /// Stops or allows the start of hops.
    case hold(Bool)
    /// Ends all waiting and later transfers; running ones continue.
    case drain
    case stop
}

/// A transfer's question whether its hop may start.
struct AdmissionQuestion: Sendable {
    let transfer: UInt64
    let question: Int
}
