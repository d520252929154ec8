import KFNetwork

extension TransferEngine {
    /// Makes one transfer and waits for its end. Cancelling the task cancels the transfer.
    func perform(
        _ request: TransferRequest, sink: any TransferSink
    ) async throws(TransferError) -> TransferResponse {
        let caller = Caller()
        let transfer = TransferStart(request, sink: sink, receiver: Callers.shared, token: caller)
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                caller.continuation = continuation
                start([transfer])
                // A cancellation before `start` had no effect.
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

/// Resumes the callers of `perform`, and decides as their scripted gates say.
private final class Callers: TransferReceiver {
    static let shared = Callers()

    func ended(_ transfers: [EndedTransfer]) {
        for transfer in transfers { (transfer.token as? Caller)?.continuation?.resume(returning: transfer.result) }
    }

    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        Task { answer(gates.map { ($0 as? ScriptedGate)?.admits() ?? true }) }
    }
}
