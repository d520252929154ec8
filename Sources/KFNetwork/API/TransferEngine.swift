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
    /// Held while the thread is joined, so that a second `shutdown` returns no sooner than the first.
    private let joining = Mutex(())

    package init(configuration: EngineConfiguration = EngineConfiguration()) {
        self.configuration = configuration
    }

    deinit { shutdown() }

    /// Starts the transfers, with one wake-up of the I/O thread at most. Each waits for a place as long as the limits of
    /// the engine ask for; timeouts count from the start. A transfer that cannot be started ends through its receiver.
    package func start(_ transfers: [TransferStart]) {
        guard !transfers.isEmpty else { return }
        var problem = TransferError.shutDown
        do throws(TransferError) {
            try ensureThread()
            if mailbox.post(.start(transfers)) { return }
        } catch {
            problem = error
        }
        // In a task: the caller may hold a lock that the receiver takes.
        Task { [problem] in Deliveries.refuse(transfers, problem) }
    }

    /// Ends the transfer with `.cancelled`. Without effect before its start and after its end.
    package func cancel(_ id: UInt64) { _ = mailbox.post(.cancel(id)) }

    /// Moves the transfer among those that wait. What runs already is not changed.
    package func prioritize(_ id: UInt64, _ priority: Float) { _ = mailbox.post(.prioritize(id, priority)) }

    /// While held, nothing starts, the next hop of a redirect included; what runs goes on. The last call wins.
    package func hold(_ isHeld: Bool) { _ = mailbox.post(.hold(isHeld)) }

    /// Starts nothing more to the host for that long; what runs goes on. `host` is a lower-case name, followed by
    /// ":port" where the port is not the scheme's own.
    package func pause(host: String, for duration: Duration) {
        // Where no thread can be had nothing will start anyway, and the next transfer says why.
        guard (try? ensureThread()) != nil else { return }
        _ = mailbox.post(.pause(host: host, until: .now + duration))
    }

    /// From now on no transfer starts: those that wait, and those to come, end with `.cancelled`. Those that run go on.
    package func drain() { _ = mailbox.post(.drain) }

    /// Ends all transfers, and those started later, with `.shutDown`, and joins the I/O thread. Call it before the process
    /// exits: OpenSSL's exit handlers free what a thread in TLS still uses. Idempotent. Called on the I/O thread (in a sink)
    /// it returns at once, and the thread ends afterwards.
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
            case .over: return .shutDown
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

extension TransferEngine {
    /// Makes one GET, redirects included, and hands its body to the sink. Waits for a place as long as the limits of
    /// the engine ask for; timeouts count from the start. Cancelling the task ends the transfer with `.cancelled`. The
    /// sink is not called after this has returned.
    package func perform(
        _ request: TransferRequest, sink: any TransferSink
    ) async throws(TransferError) -> TransferResponse {
        let caller = Caller()
        let transfer = TransferStart(request, sink: sink, receiver: Callers.shared, token: caller)
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                caller.continuation = continuation
                start([transfer])
                // A cancellation before the start found nothing to cancel.
                if Task.isCancelled { cancel(transfer.id) }
            }
        } onCancel: {
            cancel(transfer.id)
        }
        return try result.get()
    }
}

// Unchecked, because the continuation is set before the transfer starts and read after it has ended.
private final class Caller: @unchecked Sendable {
    var continuation: UnsafeContinuation<Result<TransferResponse, TransferError>, Never>?
}

/// Resumes the callers of `perform`.
private final class Callers: TransferReceiver {
    static let shared = Callers()

    func ended(_ transfers: [EndedTransfer]) {
        // From a thread of the pool: each caller that is resumed here would wake one, which would sleep until the next.
        Task {
            for transfer in transfers {
                unsafeDowncast(transfer.token, to: Caller.self).continuation?.resume(returning: transfer.result)
            }
        }
    }

    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        Task {
            let admitted = await withTaskGroup(of: (Int, Bool).self) { group in
                for (index, gate) in gates.enumerated() {
                    group.addTask { (index, await (gate as? any DecidingGate)?.admits() ?? true) }
                }
                return await group.reduce(into: Array(repeating: true, count: gates.count)) { $0[$1.0] = $1.1 }
            }
            answer(admitted)
        }
    }
}
