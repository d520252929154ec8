import KFNetwork
import Support
import Synchronization

@testable import KFCore
@testable import KFPipeline

/// Answers requests as a test says, without a network.
final class ScriptedTransport: PerformingTransport {
    struct Answer {
        var status = 200
        var headers: [(name: String, value: String)] = []
        var body: [UInt8] = []
        /// The transfer breaks off with this after the body.
        var error: TransferError?
        /// The address of the server.
        var address = ""
    }

    struct Pause: Equatable {
        let host: String
        let duration: Duration
    }

    private struct State {
        var requests: [TransferRequest] = []
        var pauses: [Pause] = []
        var refusals = 0
        /// The signal that requests wait for; nil while they pass.
        var opening: StopSignal?
    }

    private let state = Mutex(State())
    let tasks = TransportTasks()
    private let script: @Sendable (TransferRequest, _ number: Int) -> Answer

    /// `number` counts the requests from 0.
    init(_ script: @escaping @Sendable (TransferRequest, _ number: Int) -> Answer) { self.script = script }

    /// The same for every request.
    convenience init(_ answer: Answer) { self.init { _, _ in answer } }

    var requests: [TransferRequest] { state.withLock { $0.requests } }
    var pauses: [Pause] { state.withLock { $0.pauses } }

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

    /// Follows redirects as the engine does: the script gets each request, with its condition if its URL is the right one.
    func perform(
        _ request: TransferRequest, sink: any TransferSink
    ) async throws(TransferError) -> TransferResponse {
        try await perform(request, at: request.url, via: [], sink)
    }

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
            let redirect = Redirect(
                status: answer.status, url: url, headers: head.headers, address: answer.address,
                givesCredentials: target.contains("@"))
            return try await perform(first, at: target, via: via + [redirect], sink)
        }
        if answer.status == 304, !request.isConditional { throw .unexpectedStatus(304) }
        let isAnswer =
            answer.status == 304 && request.isConditional || answer.status == 206 && request.resumption != nil
        guard isAnswer || request.options.acceptedStatus.contains(answer.status) else {
            throw answer.error ?? .httpStatus(answer.status, head)
        }
        if let hook = request.hooks.response, await hook(head) == .cancel { throw .cancelledByHook }
        do throws(SinkError) {
            try sink.begin(head)
            try answer.body.withUnsafeBytes { bytes in
                Result { () throws(SinkError) in try sink.receive(bytes) }
            }.get()
        } catch {
            throw .sink(error)
        }
        request.hooks.progress?(Int64(answer.body.count), Int64(answer.body.count))
        if let error = answer.error { throw error }
        var metrics = DownloadMetrics()
        metrics.remoteAddress = answer.address
        return TransferResponse(head: head, metrics: metrics)
    }

    func pause(host: String, for duration: Duration) {
        state.withLock { $0.pauses.append(Pause(host: host, duration: duration)) }
    }

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

/// A transport that makes each transfer in a task of its own.
protocol PerformingTransport: Transport {
    var tasks: TransportTasks { get }
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(TransferError) -> TransferResponse
}

/// The tasks of the transfers that have not ended.
final class TransportTasks: Sendable {
    private let running = Mutex<[UInt64: Task<Void, Never>]>([:])

    func start(_ id: UInt64, _ work: @escaping @Sendable () async -> Void) {
        running.withLock { running in
            running[id] = Task { [self] in
                await work()
                self.running.withLock { _ = $0.removeValue(forKey: id) }
            }
        }
    }

    func cancel(_ id: UInt64) { running.withLock { $0[id] }?.cancel() }
}

extension PerformingTransport {
    func start(_ transfers: [TransferStart]) {
        for transfer in transfers {
            tasks.start(transfer.id) {
                let result: Result<TransferResponse, TransferError>
                do throws(TransferError) {
                    result = .success(try await perform(transfer.request, sink: transfer.sink))
                } catch {
                    result = .failure(error)
                }
                transfer.receiver.ended([EndedTransfer(id: transfer.id, token: transfer.token, result: result)])
            }
        }
    }

    func cancel(_ id: UInt64) { tasks.cancel(id) }
    func prioritize(_ id: UInt64, _ priority: Float) {}
    func hold(_ isHeld: Bool) {}
}

extension TransferRequest {
    var isConditional: Bool { condition != nil }

    /// The headers with those of the condition.
    var sentHeaders: [(name: String, value: String)] { headers + (condition?.headers ?? []) }
}
