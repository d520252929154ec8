import KFStorage
import KFTerms
import Synchronization

/// A remote whose blobs are asked for and deleted one by one. What fails is tried again.
final class RemoteDesk: Sendable {
    /// The number of blobs that are asked for at once.
    static let width = 32
    private static let mostTries = 4
    /// The longest rest that a remote may ask for before the next try.
    static let longestRest = Duration.seconds(30)
    private static let silence = Duration.seconds(15)
    /// The number of requests in a row that may fail for good. The remote is then given up: it is gone, or refuses all.
    private static let mostFailures = 32

    let layer: any CacheLayer
    private let remote: Remote
    private let failures = Mutex(0)

    init(_ layer: any CacheLayer) {
        self.layer = layer
        remote = Remote(layer, silence: Self.silence, isUpkeep: true) { _ in }
    }

    func location(of kind: CacheLayerRequest.Kind, _ name: Digest) -> String { layer.location(of: kind, name.hex) }

    /// Reads an entry; the bytes are empty unless the answer is `done`.
    func readEntry(_ name: Digest) async -> (answer: CacheLayerAnswer, bytes: [UInt8]) {
        let reading = BlobReading()
        let answer = await ask(.read, .entry, name, limit: Int64(RemoteEntry.longest), reading)
        return (answer, answer == .done ? reading.bytes : [])
    }

    /// Reads an object of at most `limit` bytes; `digest` is nil unless the answer is `done`.
    func hashObject(
        _ name: Digest, limit: Int64
    ) async -> (answer: CacheLayerAnswer, count: Int64, digest: Digest?) {
        let reading = BlobReading(hashes: true)
        let answer = await ask(.read, .object, name, limit: limit, reading)
        return (answer, reading.count, answer == .done ? reading.digest : nil)
    }

    func checkObject(_ name: Digest) async -> CacheLayerAnswer {
        await ask(.check, .object, name, limit: 0, BlobReading())
    }

    func delete(_ kind: CacheLayerRequest.Kind, _ name: Digest) async -> CacheLayerAnswer {
        await ask(.delete, kind, name, limit: 0, BlobReading())
    }

    /// Throws when nothing has succeeded for a while.
    func checkHealth(after problem: String) throws(KingfisherError) {
        guard failures.withLock({ $0 }) >= Self.mostFailures else { return }
        throw .remoteFails(layer.name, problem)
    }

    /// Deletes what `places` stand for. `take` is told of each answer. Throws if the remote refuses.
    func delete(
        _ places: some Sequence<Int>, _ delete: @escaping @Sendable (Int) async -> CacheLayerAnswer,
        take: (Int, CacheLayerAnswer) -> Void
    ) async throws(KingfisherError) {
        try await concurrently(places, width: Self.width) { place in
            (place, await delete(place))
        } take: { (place, answer) throws(KingfisherError) in
            take(place, answer)
            if case .refused(let reason) = answer { throw .remoteFails(layer.name, reason) }
            try checkHealth(after: answer.problem ?? "")
        }
    }

    private func ask(
        _ operation: CacheLayerRequest.Operation, _ kind: CacheLayerRequest.Kind, _ name: Digest, limit: Int64,
        _ reading: BlobReading
    ) async -> CacheLayerAnswer {
        var tries = 0
        while true {
            let answer = await reading.answer(
                to: CacheLayerRequest(operation, kind, name.hex, limit: limit, of: remote, for: reading))
            var rest: Duration?
            switch answer {
            case .done, .exists, .absent, .refusedBlob:
                failures.withLock { $0 = 0 }
                return answer
            case .refused: break
            case .busy(let asked): rest = min(asked, Self.longestRest)
            case .locked, .failed: rest = .milliseconds(200) * (1 << tries)
            }
            tries += 1
            if let rest, tries < Self.mostTries, await Self.sleep(rest) { continue }
            failures.withLock { $0 += 1 }
            return answer
        }
    }

    /// Returns false if the task was cancelled.
    private static func sleep(_ span: Duration) async -> Bool {
        do { try await Task.sleep(for: span) } catch { return false }
        return true
    }
}

/// The receiver of one request at a time.
private final class BlobReading: RemoteWaiter {
    private struct Received {
        var count: Int64 = 0
        var bytes: [UInt8] = []
        var hash: SHA256?
        var waiter: UnsafeContinuation<CacheLayerAnswer, Never>?
    }

    private let hashes: Bool
    private let received = Mutex(Received())

    /// With `hashes`, the bytes are hashed and not kept.
    init(hashes: Bool = false) { self.hashes = hashes }

    var count: Int64 { received.withLock { $0.count } }
    var bytes: [UInt8] { received.withLock { $0.bytes } }
    /// The digest of the bytes. Asked for once.
    var digest: Digest? { received.withLock { $0.hash?.finish() } }

    func answer(to request: CacheLayerRequest) async -> CacheLayerAnswer {
        await withUnsafeContinuation { continuation in
            received.withLock { $0 = Received(hash: hashes ? SHA256() : nil, waiter: continuation) }
            request.remote.start([request])
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        received.withLock { received in
            received.count += Int64(bytes.count)
            if hashes { received.hash?.update(bytes) } else { received.bytes.append(contentsOf: bytes) }
        }
        return true
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {
        let waiter = received.withLock { received in
            defer { received.waiter = nil }
            return received.waiter
        }
        waiter?.resume(returning: request.isTooLong ? .refusedBlob("it is longer than the list says") : answer)
    }
}
