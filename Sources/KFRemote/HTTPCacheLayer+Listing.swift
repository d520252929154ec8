import KFNetwork
import KFTerms
import Synchronization

extension HTTPCacheLayer {
    /// The greatest number of pages: at 1,000 blobs each, 100 million.
    private static let mostPages = 100_000

    func list(_ take: @escaping @Sendable (CacheLayerBlob) -> Void) async throws(KingfisherError) {
        var token: String?
        for _ in 0..<Self.mostPages {
            guard let list = server.list(after: token) else { throw .cannotList(name, "this server cannot list") }
            guard let page = S3Page(try await read(list.url)) else {
                throw .cannotList(name, "what the server sent is no list of S3")
            }
            for file in page.files where file.key.hasPrefix(list.prefix) {
                let path = file.key.dropFirst(list.prefix.count)
                if let blob = CacheLayerBlob(path: path, bytes: file.size) { take(blob) }
            }
            guard let next = page.next else { return }
            guard next != token else { break }
            token = next
        }
        throw .cannotList(name, "the server's list has no end")
    }

    private func read(_ url: String) async throws(KingfisherError) -> [UInt8] {
        let page = Page()
        switch await page.result(of: listing(url), engine) {
        case .success: return page.bytes
        case .failure(.httpStatus(404, _)): throw .cannotList(name, "\(server.absence) (status 404)")
        case .failure(.httpStatus(let status, let head)):
            throw .cannotList(name, "status \(status)\(server.advice(on: status, head, isWrite: false))")
        case .failure(let error): throw .cannotList(name, error.message)
        }
    }
}

extension KingfisherError {
    static func cannotList(_ name: String, _ reason: String) -> KingfisherError {
        .cacheError(reason: .remoteIsUnavailable(detail: "the remote \(name) cannot be listed: \(reason)"))
    }
}

/// The transfer of a page of a list.
private final class Page: TransferSink, TransferReceiver {
    /// The greatest size in bytes. A page of S3 has at most 1,000 names, each of at most 1,024 bytes.
    private static let most = 16 << 20

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
            return body.bytes.count <= Self.most
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
