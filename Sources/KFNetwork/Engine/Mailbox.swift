import KFSystem
import Synchronization

/// The queue of commands for the loop. It is unbounded: each command starts a transfer or refers to one. The loop is
/// woken once per sleep, not once per command.
final class Mailbox: Sendable {
    private struct Contents {
        var commands: [Command] = []
        var waker: ReadinessQueue.Waker?
        var isAsleep = false
        var isClosed = false
    }

    private let contents = Mutex(Contents())

    /// Queues a command and wakes the loop if it sleeps. Returns false if the loop has ended.
    func post(_ command: Command) -> Bool {
        contents.withLock { contents in
            guard !contents.isClosed else { return false }
            contents.commands.append(command)
            if contents.isAsleep {
                contents.isAsleep = false
                // Under the lock, so that its descriptor cannot be closed meanwhile.
                contents.waker?.wake()
            }
            return true
        }
    }

    func attach(_ waker: ReadinessQueue.Waker) { contents.withLock { $0.waker = waker } }

    /// Removes and returns the commands posted so far.
    func take() -> [Command] {
        contents.withLock { contents in
            contents.isAsleep = false
            guard !contents.commands.isEmpty else { return [] }
            let commands = contents.commands
            contents.commands = []
            contents.commands.reserveCapacity(min(commands.count, 1024))
            return commands
        }
    }

    /// Returns true if the queue is empty; the next command then wakes the loop.
    func sleeps() -> Bool {
        contents.withLock { contents in
            contents.isAsleep = contents.commands.isEmpty
            return contents.isAsleep
        }
    }

    /// Refuses further commands and returns the unread ones.
    func close() -> [Command] {
        contents.withLock { contents in
            contents.isClosed = true
            contents.waker = nil
            defer { contents.commands = [] }
            return contents.commands
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
    case admit([(transfer: UInt64, question: Int)], [Bool])
    /// Stops or allows the start of hops.
    case hold(Bool)
    /// Ends all waiting and later transfers; running ones continue.
    case drain
    case stop
}
