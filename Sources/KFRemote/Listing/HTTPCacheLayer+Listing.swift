import KFNetwork
import KFStorage
import KFTerms
import Synchronization

extension HTTPCacheLayer {
    /// The greatest number of pages: of a bucket with 1,000 blobs each, 100 million.
    private static let mostPages = 100_000
    /// The number of pages that are asked for at once.
    private static let together = 8
    /// The number of times that a page is asked for if the server fails.
    private static let mostTries = 3

    func list(_ take: @escaping @Sendable (CacheLayerBlob) -> Void) async throws(KingfisherError) {
        var pages = [server.firstPage][...]
        var seen = Set(pages.map(\.place))
        while !pages.isEmpty {
            let some = pages.prefix(Self.together)
            pages = pages.dropFirst(some.count)
            try await concurrently(some, width: Self.together) { [self] page in
                await contents(of: page)
            } take: { contents throws(KingfisherError) in
                let contents = try contents.get()
                contents.blobs.forEach(take)
                for page in contents.pages {
                    // A folder may be listed twice. The part of a bucket's list that comes again has no end.
                    let isNew = seen.insert(page.place).inserted
                    guard isNew || page.method == .listCollection, seen.count <= Self.mostPages else {
                        throw .cannotList(name, "the server's list has no end")
                    }
                    if isNew { pages.append(page) }
                }
            }
        }
    }

    /// Reads a page, again if the server fails or sends something else. A folder may have changed while it was listed.
    private func contents(of page: BlobPage) async -> Result<BlobPage.Contents, KingfisherError> {
        var tries = 0
        while true {
            let body = PageBody()
            let failure: KingfisherError
            var rest = Duration.milliseconds(250) * (1 << tries)
            switch await body.result(of: request(for: page), engine) {
            case .success(let response):
                // If the two clocks differ, a blob is as young as the one says that calls it younger.
                let now = min(response.head.headers["date"].flatMap { HTTPDate.parse($0) } ?? .now(), .now())
                do throws(KingfisherError) {
                    return .success(try server.contents(of: page, body.bytes, at: now))
                } catch {
                    failure = error
                }
            case .failure(.httpStatus(404, _)) where page.mayBeMissing:
                // Nothing was written yet, unless the address is wrong.
                return await contents(of: server.rootPage)
            case .failure(.httpStatus(let status, let head)):
                failure = .cannotList(name, problem(status, head, page))
                guard status == 429 || status >= 500, status != 501 else { return .failure(failure) }
                if let asked = RetryAfter.rest(status: status, value: head.headers["retry-after"]) {
                    rest = min(asked, RemoteDesk.longestRest)
                }
            case .failure(.sink(let error)): return .failure(.cannotList(name, error.reason))
            case .failure(let error): failure = .cannotList(name, error.message)
            }
            tries += 1
            guard tries < Self.mostTries else { return .failure(failure) }
            do { try await Task.sleep(for: rest) } catch { return .failure(.requestError(reason: .taskCancelled)) }
        }
    }

    private func problem(_ status: Int, _ head: ResponseHead, _ page: BlobPage) -> String {
        switch status {
        case 404: "\(server.absence) (status 404)"
        case 200, 405, 501: "this server cannot list"
        case 401: "it wants another name and password, which stand in the URL (status 401)"
        default: "status \(status)\(server.advice(on: status, head, isLookUp: true))"
        }
    }
}

extension KingfisherError {
    static func cannotList(_ name: String, _ reason: String) -> KingfisherError {
        .cacheError(reason: .remoteIsUnavailable(detail: "the remote \(name) cannot be listed: \(reason)"))
    }
}

/// The transfer of a page of a list.
private final class PageBody: TransferSink, TransferReceiver {
    private struct Body {
        var bytes: [UInt8] = []
        var continuation: UnsafeContinuation<Result<TransferResponse, TransferError>, Never>?
    }

    private let body = Mutex(Body())

    var bytes: [UInt8] { body.withLock { $0.bytes } }

    func result(of request: TransferRequest, _ engine: TransferEngine) async -> Result<TransferResponse, TransferError>
    {
        await withUnsafeContinuation { continuation in
            body.withLock { $0.continuation = continuation }
            engine.start([TransferStart(request, sink: self, receiver: self, token: self)])
        }
    }

    func begin(_ head: ResponseHead) throws(SinkError) {}

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        let fits = body.withLock { body in
            body.bytes.append(contentsOf: bytes)
            return body.bytes.count <= BlobPage.longest
        }
        if !fits { throw SinkError(reason: "the list is too long") }
    }

    func ended(_ transfers: [EndedTransfer]) {
        let continuation = body.withLock { body in
            defer { body.continuation = nil }
            return body.continuation
        }
        if let result = transfers.first?.result { continuation?.resume(returning: result) }
    }

    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        answer(gates.map { _ in true })
    }
}
