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
    let server = try FaultServer { _ in steps }
    defer { server.stop() }
    return await fetch(server.url("/image.png"), sink: sink, adjust)
}
