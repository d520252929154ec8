import Support
import Synchronization

@testable import KFCore
@testable import KFNetwork
@testable import KFPipeline

/// Answers requests as a test says, without a network.
final class ScriptedTransport: Transport {
    struct Answer {
        var status = 200
        var headers: [(name: String, value: String)] = []
        var body: [UInt8] = []
        /// The transfer breaks off with this after the body.
        var error: TransferError?
        /// The address of the server.
        var address = ""
        /// Whether the server asks for a password first.
        var challenges = false
    }

    private struct State {
        var requests: [TransferRequest] = []
        var refusals = 0
        /// The signal that requests wait for; nil while they pass.
        var opening: StopSignal?
    }

    private let state = Mutex(State())
    /// The transfers that have not ended.
    private let tasks = Mutex<[UInt64: Task<Void, Never>]>([:])
    private let script: @Sendable (TransferRequest, _ number: Int) -> Answer

    /// `number` counts the requests from 0.
    init(_ script: @escaping @Sendable (TransferRequest, _ number: Int) -> Answer) { self.script = script }

    /// One answer for each request; the last one stays.
    convenience init(_ answers: Answer...) { self.init { _, number in answers[min(number, answers.count - 1)] } }

    var requests: [TransferRequest] { state.withLock { $0.requests } }

    /// From now on requests wait for `open`.
    func close() { state.withLock { $0.opening = $0.opening ?? StopSignal() } }

    func open() {
        let opening = state.withLock { state in
            defer { state.opening = nil }
            return state.opening
        }
        opening?.give()
    }

    /// Returns when so many requests have been made; gives up after 30 s.
    func requested(_ count: Int) async { await reached { $0.requests.count >= count } }

    /// The same for requests that their gates have refused.
    func refused(_ count: Int) async { await reached { $0.refusals >= count } }

    private func reached(_ isReached: (State) -> Bool) async {
        _ = await eventually { state.withLock { isReached($0) } }
    }

    func start(_ transfers: [TransferStart]) {
        for transfer in transfers {
            tasks.withLock { tasks in
                tasks[transfer.id] = Task { [self] in
                    let result: Result<TransferResponse, TransferError>
                    do throws(TransferError) {
                        let request = transfer.request
                        result = .success(try await perform(request, at: request.url, via: [], transfer.sink))
                    } catch {
                        result = .failure(error)
                    }
                    let isRefused = if case .failure(.notAdmitted) = result { true } else { false }
                    transfer.receiver.ended([
                        EndedTransfer(
                            id: transfer.id, token: transfer.token, result: result, requests: isRefused ? 0 : 1)
                    ])
                    self.tasks.withLock { _ = $0.removeValue(forKey: transfer.id) }
                }
            }
        }
    }

    func cancel(_ id: UInt64) { tasks.withLock { $0[id] }?.cancel() }

    /// Follows redirects as the engine does: the script gets each request, with its condition if its URL is the right one.
    private func perform(
        _ first: TransferRequest, at url: String, via: [Redirect], _ sink: any TransferSink
    ) async throws(TransferError) -> TransferResponse {
        var request = first
        request.url = url
        if let condition = first.condition, !condition.isFor(url, via.isEmpty) { request.condition = nil }
        let number = state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        _ = await state.withLock { $0.opening }?.wait()
        if Task.isCancelled { throw .cancelled }
        guard await isAdmitted(request) else { throw .notAdmitted }
        let answer = script(request, number)
        let head = ResponseHead(
            status: answer.status, headers: HeaderFields(answer.headers), framing: .length(Int64(answer.body.count)),
            effectiveURL: request.url, via: via)
        if (301...308).contains(answer.status), let target = head.headers["Location"] {
            if let hook = request.hooks.redirect,
                await hook(head, .init(url: target, headers: request.headers)) == nil
            {
                throw .redirectRefused(status: answer.status)
            }
            let redirect = Redirect(
                status: answer.status, url: url, headers: head.headers, address: answer.address,
                givesCredentials: target.contains("@"))
            return try await perform(first, at: target, via: via + [redirect], sink)
        }
        if answer.challenges, let hook = request.hooks.challenge {
            _ = await hook(.init(.password(realm: "r"), host: "h", scheme: .basic))
        }
        if answer.status == 304, !request.isConditional { throw .unexpectedStatus(304) }
        let isAnswer =
            answer.status == 304 && request.isConditional || answer.status == 206 && request.resumption != nil
        guard isAnswer || request.options.acceptedStatus.contains(answer.status) else {
            throw answer.error ?? .httpStatus(answer.status, head)
        }
        if let hook = request.hooks.response, await hook(head) == .cancel { throw .cancelledByHook }
        do throws(SinkError) {
            try sink.take(head, answer.body)
        } catch {
            throw .sink(error)
        }
        request.hooks.progress?(Int64(answer.body.count), Int64(answer.body.count))
        if let error = answer.error { throw error }
        var metrics = DownloadMetrics()
        metrics.remoteAddress = answer.address
        return TransferResponse(head: head, metrics: metrics)
    }

    func prioritize(_ id: UInt64, _ priority: Float) {}
    func hold(_ isHeld: Bool) {}
    func drain() {}
    func shutdown() {}

    private func isAdmitted(_ request: TransferRequest) async -> Bool {
        while true {
            switch request.gate?.enter() {
            case .ended: return false
            case .undecided: return (request.gate as? ImageDownload)?.isStillMissing() ?? true
            case .open, nil: return true
            case .later(let pause):
                state.withLock { $0.refusals += 1 }
                do { try await Task.sleep(for: pause) } catch { return false }
            }
        }
    }
}

extension TransferSink {
    /// Takes a whole response.
    func take(_ head: ResponseHead, _ body: [UInt8]) throws(SinkError) {
        try begin(head)
        try body.withUnsafeBytes { bytes in Result { () throws(SinkError) in try receive(bytes) } }.get()
    }
}

extension TransferRequest {
    var isConditional: Bool { condition != nil }

    /// The headers with those of the condition.
    var sentHeaders: [(name: String, value: String)] { headers + (condition?.headers ?? []) }
}
