import KFNetwork
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// An HTTP server or an S3 bucket: `http:`, `https:` and `s3:` remotes.
final class HTTPCacheLayer: CacheLayer {
    /// The greatest number of connections.
    private static let mostConnections = DescriptorLimit.beside(32)
    /// The time limits for connecting, and for a transfer without progress.
    private static let connecting = Duration.seconds(1)
    private static let stalling = Duration.seconds(5)
    /// The rest after a 429 that states none.
    private static let standardRest = Duration.seconds(1)
    /// The size up to which an upload is read into memory, in bytes.
    private static let memoryLimit: Int64 = 256 << 10

    private struct Work {
        var engine: TransferEngine?
        var reach: NetworkReach?
        /// The requests with a transfer in flight.
        var attempts: [ObjectIdentifier: Attempt] = [:]
        var collections = Collections()
    }

    let server: any BlobServer
    private let terms: TransferOptions
    private let maxTime: Duration
    /// The terms of entries and questions, and those of small objects.
    private let asking: TransferTerms
    private let reading: TransferTerms
    private let writing: TransferTerms
    private let work: Mutex<Work>

    /// `options` give certificates, proxy, User-Agent and time limit. Their credentials and cookies are those of origins, and
    /// are not used.
    init(_ server: any BlobServer, _ options: TransferOptions) {
        self.server = server
        var own = TransferOptions()
        own.userAgent = options.userAgent
        own.proxy = options.proxy
        own.caFile = options.caFile
        own.systemCAFile = options.systemCAFile
        own.trustedHosts = options.trustedHosts
        own.forcesHTTP11 = options.forcesHTTP11
        own.credentials = server.credentials
        own.connectTimeout = Self.connecting
        own.timeout = Self.stalling
        own.maxRedirects = 0
        own.maxBytes = .max
        own.acceptedStatus = [200]
        maxTime = options.maxTime ?? .seconds(Int64.max)
        terms = own
        own.maxTime = min(maxTime, Self.longestEntry)
        asking = TransferTerms(own)
        own.maxTime = min(maxTime, Self.time(for: Self.smallObject))
        reading = TransferTerms(own)
        own.maxTime = options.maxTime
        own.acceptedStatus = [200, 201, 202, 204]
        writing = TransferTerms(own)
        // Behind a proxy, the address of the connection is the proxy's.
        let address = server.address
        let isBehindProxy = own.usesProxy(toHost: address.host, isSecure: address.root.hasPrefix("https:"))
        work = Mutex(Work(reach: NetworkReach(host: address.host) ?? (isBehindProxy ? .internet : nil)))
    }

    var name: String { server.name }

    var reach: NetworkReach? { work.withLock { $0.reach } }

    func location(of kind: CacheLayerRequest.Kind, _ name: String) -> String {
        "\(self.name)/\(RemoteLayout.path(of: kind, name))"
    }

    private var engine: TransferEngine {
        work.withLock { work in
            if let engine = work.engine { return engine }
            var configuration = EngineConfiguration()
            configuration.maxConnections = Self.mostConnections
            configuration.maxPerHost = Self.mostConnections
            let engine = TransferEngine(configuration: configuration)
            work.engine = engine
            return engine
        }
    }

    func start(_ requests: [CacheLayerRequest]) { send(requests.map { Attempt(request: $0) }) }

    func cancel(_ requests: [CacheLayerRequest]) {
        let ids = work.withLock { work in requests.compactMap { work.attempts[ObjectIdentifier($0)]?.transfer } }
        for id in ids { engine.cancel(id) }
    }

    func shutdown() {
        let engine = work.withLock { work in
            defer { work.engine = nil }
            return work.engine
        }
        engine?.shutdown()
    }

    // MARK: Requests

    private func send(_ attempts: [Attempt]) {
        var refused: [(CacheLayerRequest, CacheLayerAnswer)] = []
        var starts: [(Attempt, TransferRequest)] = []
        starts.reserveCapacity(attempts.count)
        for attempt in attempts {
            do throws(KingfisherError) {
                starts.append((attempt, try transferRequest(for: attempt)))
            } catch {
                // The file was evicted or cannot be read.
                refused.append((attempt.request, .refusedBlob(error.message)))
            }
        }
        begin(starts)
        if !refused.isEmpty { CacheLayerRequest.end(refused) }
    }

    private func begin(_ attempts: [(Attempt, TransferRequest)]) {
        guard !attempts.isEmpty else { return }
        let starts = attempts.map { attempt, request in
            TransferStart(request, sink: BlobSink(attempt.request), receiver: self, token: attempt.request)
        }
        work.withLock { work in
            for (start, (attempt, _)) in zip(starts, attempts) {
                var attempt = attempt
                attempt.transfer = start.id
                work.attempts[ObjectIdentifier(attempt.request)] = attempt
            }
        }
        engine.start(starts)
    }

    private static func transferBody(_ body: CacheLayerBody) throws(KingfisherError) -> TransferBody {
        switch body {
        case .bytes(let bytes): return .bytes(bytes)
        case .file(let file):
            if file.size <= memoryLimit { return .bytes(try file.readAll()) }
            do { return .file(TransferFile(descriptor: try file.duplicate(), size: file.size)) } catch {
                throw KingfisherError(reading: error)
            }
        }
    }

    private func transferRequest(for attempt: Attempt) throws(KingfisherError) -> TransferRequest {
        let blob = attempt.request
        var request = TransferRequest(url: server.address.url(of: blob))
        switch blob.operation {
        case .read:
            request.terms = terms(for: blob)
            if server.isAbsence != nil { request.hooks.refusal = { attempt.refusal.add($0) } }
        case .check:
            request.terms = asking
            request.method = .head
        case .write(let body, let replaces):
            request.terms = writing
            request.method = .put
            request.body = try Self.transferBody(body)
            if !replaces { request.headers.append(("If-None-Match", "*")) }
            request.hooks.sent = { blob.noteActivity() }
        }
        server.sign(&request, for: blob)
        return request
    }

    /// The time limits. A server that sends a byte now and then would hold a run up for ever.
    private static let longestEntry = Duration.seconds(5)
    /// The greatest size of a small object, in bytes.
    private static let smallObject: Int64 = 1 << 20

    /// Returns the time limit for an object: 15 s, and as long as it takes at 64 KiB a second.
    private static func time(for size: Int64) -> Duration { .seconds(15 + size >> 16) }

    private func terms(for request: CacheLayerRequest) -> TransferTerms {
        if request.kind == .entry { return asking }
        if request.limit <= Self.smallObject { return reading }
        var options = terms
        options.maxTime = min(maxTime, Self.time(for: request.limit))
        return TransferTerms(options)
    }

    // MARK: Answers

    /// Returns the answer that the end of a transfer means; nil if the request goes on.
    private func answer(to ended: EndedTransfer, _ attempt: Attempt) -> CacheLayerAnswer? {
        if let path = attempt.making { return madeCollection(path, attempt, ended.result) }
        switch ended.result {
        case .success(let response):
            noteAddress(response.metrics.remoteAddress)
            return .done
        case .failure(.httpStatus(let status, let head)):
            noteAddress(ended.address)
            return answer(to: status, head, attempt)
        case .failure(.tooManyRedirects), .failure(.insecureRedirect), .failure(.forbiddenRedirectScheme),
            .failure(.invalidRedirect):
            return .refused("it redirects to another address; give that address")
        case .failure(.sink), .failure(.engine): return .refusedBlob("it was not transferred to its end")
        case .failure(let error): return .failed(error.message)
        }
    }

    private func noteAddress(_ address: String?) {
        work.withLock { work in
            if work.reach == nil { work.reach = address.flatMap { NetworkReach(host: $0) } }
        }
    }

    private func answer(to status: Int, _ head: ResponseHead, _ attempt: Attempt) -> CacheLayerAnswer? {
        let isWrite = attempt.request.isWrite
        if let rest = RetryAfter.rest(status: status, value: head.headers["retry-after"]) { return .busy(rest) }
        func refused(_ reason: String) -> CacheLayerAnswer {
            .refused("\(reason) (status \(status))\(server.advice(on: status, head, isWrite: isWrite))")
        }
        switch status {
        case 300..<400: return refused("it redirects")
        case 412 where isWrite: return .exists
        case 423 where isWrite: return .locked("it is locked (status 423)")
        case 404 where isWrite, 409 where isWrite:
            if server.hasCollections, attempt.collections == nil {
                // They are made once, and then the blob is written again.
                var attempt = attempt
                attempt.collections = RemoteLayout.collections(above: server.address.path(of: attempt.request))[...]
                goOn(attempt)
                return nil
            }
            // Where all folders exist, the conflict is with another writer.
            if status == 409, !attempt.lacksCollection { return .locked("another writer is at work (status 409)") }
            return refused(server.absence)
        case 404 where server.isAbsence?(attempt.refusal.bytes) == true: return refused(server.absence)
        case 404, 410: return .absent
        case 401, 403:
            return refused("it does not allow \(isWrite ? "uploads" : "reading")")
        case 413 where isWrite: return .refusedBlob("it is too large (status 413)")
        case 429: return .busy(Self.standardRest)
        case 507 where isWrite: return refused("its storage is full")
        case 501 where isWrite, 405 where isWrite: return refused("it takes no uploads")
        case 500...599: return .failed("status \(status)")
        default: return isWrite ? .refused("status \(status)") : refused("it cannot be read")
        }
    }

    // MARK: Collections

    private func madeCollection(
        _ path: String, _ attempt: Attempt, _ result: Result<TransferResponse, TransferError>
    ) -> CacheLayerAnswer? {
        var attempt = attempt
        attempt.making = nil
        attempt.request.noteActivity()
        var failure: TransferError?
        switch result {
        // 405 says that the collection exists. After any other failure, the upload fails if the collection is missing.
        case .success, .failure(.httpStatus(405, _)): break
        case .failure(let error): failure = error
        }
        let isMade = failure == nil
        for var waiting in work.withLock({ $0.collections.end(path, isMade: isMade) }) {
            if !isMade { waiting.lacksCollection = true }
            goOn(waiting)
        }
        switch failure {
        case nil: break
        case .httpStatus: attempt.lacksCollection = true
        case let error?: return .failed(error.message)
        }
        goOn(attempt)
        return nil
    }

    /// Makes the next collection, or repeats the upload after the last one.
    private func goOn(_ attempt: Attempt) {
        var attempt = attempt
        switch work.withLock({ $0.collections.next(for: &attempt) }) {
        case .wait: break
        case .send: send([attempt])
        case .make(let path):
            attempt.making = path
            var request = TransferRequest(url: server.address.root + path + "/", terms: writing)
            request.method = .makeCollection
            begin([(attempt, request)])
        }
    }
}

extension HTTPCacheLayer: TransferReceiver {
    func ended(_ ended: [EndedTransfer]) {
        let attempts = work.withLock { work in
            ended.map { work.attempts.removeValue(forKey: ObjectIdentifier($0.token)) }
        }
        CacheLayerRequest.end(
            zip(ended, attempts).compactMap { ended, attempt in
                attempt.flatMap { attempt in answer(to: ended, attempt).map { (attempt.request, $0) } }
            })
    }

    /// Has no gates.
    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        answer(gates.map { _ in true })
    }
}

/// A request with a transfer in flight: its own, or one that makes a collection for it.
private struct Attempt: Sendable {
    let request: CacheLayerRequest
    var transfer: UInt64 = 0
    /// The collection that the transfer makes; nil if it is the request's own.
    var making: String?
    /// The collections still to be made; nil before the server has missed one.
    var collections: ArraySlice<String>?
    /// Whether a collection above the blob could not be made.
    var lacksCollection = false
    let refusal = Refusal()
}

/// The body of an error status, which the engine reads only if it is short.
private final class Refusal: Sendable {
    private let body = Mutex<[UInt8]>([])

    var bytes: [UInt8] { body.withLock { $0 } }

    func add(_ bytes: UnsafeRawBufferPointer) { body.withLock { $0 += bytes } }
}

/// The collections that this process has made or found, or is making: each once.
private struct Collections {
    private enum Collection {
        case made
        /// Being made. These uploads then go on with their next collection.
        case making([Attempt])
    }

    enum Next { case make(String), send, wait }

    private var known: [String: Collection] = [:]

    mutating func next(for attempt: inout Attempt) -> Next {
        while let path = attempt.collections?.popFirst() {
            switch known[path] {
            case .made: continue
            case .making(let waiting):
                known[path] = .making(waiting + [attempt])
                return .wait
            case nil:
                known[path] = .making([])
                return .make(path)
            }
        }
        return .send
    }

    /// Returns the uploads that have waited for a collection.
    mutating func end(_ path: String, isMade: Bool) -> [Attempt] {
        defer { known[path] = isMade ? .made : nil }
        if case .making(let waiting)? = known[path] { return waiting }
        return []
    }
}

/// Hands the bytes of a blob to its request.
private final class BlobSink: TransferSink {
    private let request: CacheLayerRequest

    init(_ request: CacheLayerRequest) { self.request = request }

    func begin(_ head: ResponseHead) throws(SinkError) { request.noteActivity() }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        guard case .read = request.operation else { return }
        if !request.receive(bytes) { throw SinkError(reason: "the blob is too long") }
    }
}
