import Synchronization

/// Makes transfers, many at once, on one I/O thread. Nothing is loaded or started before the first one.
package final class TransferEngine: Sendable {
    private enum Life {
        case idle
        case running(IOThread)
        case over
    }

    private let configuration: EngineConfiguration
    private let mailbox = Mailbox()
    private let life = Mutex(Life.idle)
    private let ids = Atomic<UInt64>(0)
    /// Held while the thread is joined, so that a second `shutdown` returns no sooner than the first.
    private let joining = Mutex(())

    package init(configuration: EngineConfiguration = EngineConfiguration()) {
        self.configuration = configuration
    }

    deinit { shutdown() }

    /// Makes one GET, redirects included, and hands its body to the sink. Waits for a place as long as the limits of
    /// the engine ask for; timeouts count from the start. Cancelling the task ends the transfer with `.cancelled`. The
    /// sink is not called after this has returned.
    package func perform(
        _ request: TransferRequest, sink: any TransferSink
    ) async throws(TransferError) -> TransferResponse {
        try ensureThread()
        let id = ids.wrappingAdd(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let start = Command.Start(id: id, request: request, sink: sink, continuation: continuation)
                guard mailbox.post(.start(start)) else { return continuation.resume(returning: .failure(.cancelled)) }
                // A cancellation before the post found nothing to cancel.
                if Task.isCancelled { _ = mailbox.post(.cancel(id)) }
            }
        } onCancel: {
            _ = mailbox.post(.cancel(id))
        }
        return try result.get()
    }

    /// Starts nothing more to the host for that long; what runs goes on. `host` is a lower-case name, followed by
    /// ":port" where the port is not the scheme's own.
    package func pause(host: String, for duration: Duration) {
        // Where no thread can be had nothing will start anyway, and the next transfer says why.
        guard (try? ensureThread()) != nil else { return }
        _ = mailbox.post(.pause(host: host, until: .now + duration))
    }

    /// From now on no transfer starts: those that wait, and those to come, end with `.cancelled`. Those that run go on.
    package func drain() { _ = mailbox.post(.drain) }

    /// Ends every transfer with `.cancelled` and joins the I/O thread. To be called before the process exits: OpenSSL's
    /// exit handlers pull the ground from under a thread that is still in TLS. Idempotent. From the I/O thread itself
    /// (a sink) it only says that the thread shall end.
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
        let problem: TransferError? = life.withLock { life in
            switch life {
            case .running: return nil
            case .over: return .cancelled
            case .idle: break
            }
            do throws(TransferError) {
                let thread = try IOThread.start {
                    TransferLoop.run(mailbox: mailbox, configuration: configuration)
                }
                life = .running(thread)
                return nil
            } catch {
                return error
            }
        }
        if let problem { throw problem }
    }
}
