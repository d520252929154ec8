import KFNetwork
import Support

/// What a caller sees of one transfer.
struct Fetched {
    var result: Result<TransferResponse, TransferError>
    var sink: CollectingSink

    var error: TransferError? {
        if case .failure(let error) = result { error } else { nil }
    }

    var head: ResponseHead? { try? result.get().head }
    var metrics: DownloadMetrics? { try? result.get().metrics }
    var body: String { sink.body }

    /// The status that ended the transfer; nil for any other end.
    var refusal: Int? { refusedHead?.status }

    /// The head with the status that ended the transfer.
    var refusedHead: ResponseHead? {
        if case .httpStatus(_, let head) = error { head } else { nil }
    }

    /// The name of the error, such as `stalled`.
    var failure: String? { error?.name }
}

func fetch(
    _ url: String, sink: CollectingSink = CollectingSink(), engine: TransferEngine? = nil,
    _ adjust: (inout TransferRequest) -> Void = { _ in }
) async -> Fetched {
    var request = TransferRequest(url: url)
    // No test waits for the default of 15 s, and none needs it.
    request.options.timeout = .seconds(10)
    // A proxy of the machine that runs the tests is no part of them.
    request.options.proxy = ""
    adjust(&request)
    let own = engine == nil ? TransferEngine() : nil
    defer { own?.shutdown() }
    do throws(TransferError) {
        let response = try await (engine ?? own!).perform(request, sink: sink)
        return Fetched(result: .success(response), sink: sink)
    } catch {
        return Fetched(result: .failure(error), sink: sink)
    }
}

/// Fetches from a server that answers every request with these steps.
func fetch(
    from steps: FaultStep..., sink: CollectingSink = CollectingSink(),
    _ adjust: (inout TransferRequest) -> Void = { _ in }
) async throws -> Fetched {
    try await fetch(from: steps, sink: sink, adjust)
}

func fetch(
    from steps: [FaultStep], sink: CollectingSink = CollectingSink(),
    _ adjust: (inout TransferRequest) -> Void = { _ in }
) async throws -> Fetched {
    let server = try FaultServer { _ in steps }
    defer { server.stop() }
    return await fetch(server.url("/image.png"), sink: sink, adjust)
}

extension TransferError {
    /// The name of the case, without its values.
    var name: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }

    /// What is wrong with a certificate.
    var tlsFailure: TLSFailure? {
        if case .tls(let failure, _, _) = self { failure } else { nil }
    }
}
