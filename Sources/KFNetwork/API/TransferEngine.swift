import Synchronization

/// An HTTP client that makes many transfers at once on one I/O thread. The first transfer loads libcurl and starts the
/// thread.
package final class TransferEngine: Sendable {
    private enum Life {
        case idle
        case running(IOThread)
        case over
    }

    private let configuration: EngineConfiguration
    private let mailbox = Mailbox()
    private let life = Mutex(Life.idle)
    /// Held while `shutdown` joins the thread, so that a second `shutdown` returns no sooner than the first.
    private let joining = Mutex(())

    package init(configuration: EngineConfiguration = EngineConfiguration()) {
        self.configuration = configuration
    }

    deinit { shutdown() }

    /// Queues the transfers, waking the I/O thread at most once. Each starts when the engine's limits allow; its
    /// timeouts count from that start. A transfer that cannot start is reported to its receiver with an error.
    package func start(_ transfers: [TransferStart]) {
        guard !transfers.isEmpty else { return }
        var problem = TransferError.shutDown
        do throws(TransferError) {
            try ensureThread()
            if mailbox.post(.start(transfers)) { return }
        } catch {
            problem = error
        }
        // In a task, because the caller may hold a lock that the receiver takes.
        Task { [problem] in Outbox.refuse(transfers, problem) }
    }

    /// Ends the transfer with `.cancelled`. Has no effect before `start` and after the transfer's end.
    package func cancel(_ id: UInt64) { _ = mailbox.post(.cancel(id)) }

    /// Changes the transfer's priority in the queue. Has no effect on a running transfer.
    package func prioritize(_ id: UInt64, _ priority: Float) { _ = mailbox.post(.prioritize(id, priority)) }

    /// Stops or allows the start of hops, including the next hop of a redirect. Running hops continue. The last call
    /// wins.
    package func hold(_ isHeld: Bool) { _ = mailbox.post(.hold(isHeld)) }

    /// Ends all waiting and all later transfers with `.cancelled`. Running transfers continue.
    package func drain() { _ = mailbox.post(.drain) }

    /// Ends all transfers, and all later ones, with `.shutDown`, and joins the I/O thread. Idempotent.
    ///
    /// Call it before the process exits: OpenSSL's exit handlers free memory that a thread in TLS still uses. When it
    /// is called on the I/O thread (in a sink) it returns at once, and the thread ends afterwards.
    package func shutdown() {
        let thread: IOThread? = life.withLock { life in
            defer { life = .over }
            if case .running(let thread) = life { return thread }
            return nil
        }
        _ = mailbox.post(.stop)
        if let thread, thread.isCurrent { return thread.detach() }
        joining.withLock { _ in thread?.join() }
    }

    private func ensureThread() throws(TransferError) {
        let (mailbox, configuration) = (mailbox, configuration)
        try life.withLock { life throws(TransferError) in
            switch life {
            case .running: return
            case .over: throw .shutDown
            case .idle:
                life = .running(
                    try IOThread.start { TransferLoop.run(mailbox: mailbox, configuration: configuration) })
            }
        }
    }
}
