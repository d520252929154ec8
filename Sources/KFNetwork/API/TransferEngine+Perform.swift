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
