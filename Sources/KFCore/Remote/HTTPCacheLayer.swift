import KFNetwork
import KFStorage
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

    private enum Collection {
        case made
        /// Being made. These uploads then go on with their next collection.
        case making([(transfer: LayerTransfer, rest: ArraySlice<String>)])
    }

    private struct State {
        var engine: TransferEngine?
        var reach: NetworkReach?
        /// The collections that this process has made or found, or is making.
        var collections: [String: Collection] = [:]
    }

    let name: String
    let address: RemoteAddress
    private let terms: TransferOptions
    private let maxTime: Duration
    /// The terms of entries and questions, and those of small objects.
    private let asking: TransferTerms
    private let reading: TransferTerms
    private let writing: TransferTerms
    private let state: Mutex<State>

    /// `options` give certificates, proxy, User-Agent and time limit. Their credentials and cookies are those of origins, and
    /// are not used.
    init(_ address: RemoteAddress, name: String, _ options: TransferOptions) {
        self.address = address
        self.name = name
        var own = TransferOptions()
        own.userAgent = options.userAgent
        own.proxy = options.proxy
        own.caFile = options.caFile
        own.trustedHosts = options.trustedHosts
        own.forcesHTTP11 = options.forcesHTTP11
        own.credentials = address.credentials
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
        let isBehindProxy = own.usesProxy(toHost: address.host, isSecure: address.root.hasPrefix("https:"))
        state = Mutex(State(reach: NetworkReach(host: address.host) ?? (isBehindProxy ? .internet : nil)))
    }

    var reach: NetworkReach? { state.withLock { $0.reach } }

    func location(of kind: CacheLayerRequest.Kind, _ name: String) -> String {
        "\(self.name)/\(address.layout.path(of: kind, name))"
    }

    private var engine: TransferEngine {
        state.withLock { state in
            if let engine = state.engine { return engine }
            var configuration = EngineConfiguration()
            configuration.maxConnections = Self.mostConnections
            configuration.maxPerHost = Self.mostConnections
            // No retry strategy stands above a layer, and a server ends a connection after some number of requests.
            configuration.streamRepetitions = 4
            let engine = TransferEngine(configuration: configuration)
            state.engine = engine
            return engine
        }
    }

    func start(_ requests: [CacheLayerRequest]) {
        var refused: [(CacheLayerRequest, CacheLayerAnswer)] = []
        var starts: [TransferStart] = []
        starts.reserveCapacity(requests.count)
        for request in requests {
            let transfer = LayerTransfer(request)
            do throws(KingfisherError) {
                starts.append(start(of: transfer, try body(of: request)))
            } catch {
                // The file was evicted or cannot be read.
                refused.append((request, .refusedBlob(error.message)))
            }
        }
        begin(starts)
        if !refused.isEmpty { CacheLayerRequest.end(refused) }
    }

    func cancel(_ requests: [CacheLayerRequest]) {
        for request in requests {
            let id = request.work.load(ordering: .acquiring)
            if id != 0 { engine.cancel(id) }
        }
    }

    func shutdown() {
        let engine = state.withLock { state in
            defer { state.engine = nil }
            return state.engine
        }
        engine?.shutdown()
    }

    private func begin(_ starts: [TransferStart]) {
        guard !starts.isEmpty else { return }
        for start in starts {
            (start.token as? LayerTransfer)?.request.work.store(start.id, ordering: .releasing)
        }
        engine.start(starts)
    }

    // MARK: Requests

    private func body(of request: CacheLayerRequest) throws(KingfisherError) -> TransferBody? {
        guard case .write(let body, _) = request.operation else { return nil }
        switch body {
        case .bytes(let bytes): return .bytes(bytes)
        case .file(let file):
            if file.size <= Self.memoryLimit { return .bytes(try file.readAll()) }
            do { return .file(TransferFile(descriptor: try file.duplicate(), size: file.size)) } catch {
                throw KingfisherError(reading: error)
            }
        }
    }

    private func start(of transfer: LayerTransfer, _ body: TransferBody?) -> TransferStart {
        let layerRequest = transfer.request
        var request = TransferRequest(url: address.url(of: layerRequest))
        // The digest that signatures cover: of the body, or of nothing.
        var digest = LayerTransfer.digestOfNothing
        switch layerRequest.operation {
        case .read: request.terms = terms(for: layerRequest)
        case .check:
            request.terms = asking
            request.method = .head
        case .write(let content, let replaces):
            request.terms = writing
            request.method = .put
            request.body = body
            if !replaces { request.headers.append(("If-None-Match", "*")) }
            if address.signing != nil {
                digest = layerRequest.kind == .object ? layerRequest.name : LayerTransfer.digest(of: content)
            }
            request.hooks.sent = { layerRequest.noteActivity() }
        }
        sign(&request, digest)
        return TransferStart(request, sink: transfer, receiver: self, token: transfer)
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

    private func sign(_ request: inout TransferRequest, _ digest: String) {
        guard let signing = address.signing else { return }
        request.signing = signing
        request.headers.append(("x-amz-content-sha256", digest))
    }

    // MARK: Answers

    private func took(_ transfer: LayerTransfer, _ ended: EndedTransfer) -> CacheLayerAnswer? {
        if case .makeCollections(let path, let rest) = transfer.step {
            return madeCollection(path, rest, transfer, ended.result)
        }
        switch ended.result {
        case .success(let response):
            noteAddress(response.metrics.remoteAddress)
            return .done
        case .failure(.httpStatus(let status, let head)):
            noteAddress(ended.address)
            return answer(to: status, head, transfer)
        case .failure(.tooManyRedirects), .failure(.insecureRedirect), .failure(.forbiddenRedirectScheme),
            .failure(.invalidRedirect):
            return .refused("it redirects to another address; give that address")
        case .failure(.sink), .failure(.engine): return .refusedBlob("it was not transferred to its end")
        case .failure(let error): return .failed(error.message)
        }
    }

    private func noteAddress(_ address: String?) {
        state.withLock { state in
            if state.reach == nil { state.reach = address.flatMap { NetworkReach(host: $0) } }
        }
    }

    /// Returns the answer that a status means; nil if the request goes on.
    private func answer(
        to status: Int, _ head: ResponseHead, _ transfer: LayerTransfer
    ) -> CacheLayerAnswer? {
        let isWrite = transfer.isWrite
        if let rest = RetryAfter.rest(status: status, value: head.headers["retry-after"]) { return .busy(rest) }
        switch status {
        case 300..<400:
            let region = head.headers["x-amz-bucket-region"].map { "; the bucket's region is \($0)" } ?? ""
            return .refused("it redirects (status \(status))\(region)")
        case 412 where isWrite: return .exists
        case 423 where isWrite: return .locked("it is locked (status 423)")
        case 404 where isWrite, 409 where isWrite:
            if makeCollections(transfer) { return nil }
            // Where all folders exist, the conflict is with another writer.
            if status == 409, !transfer.lacksCollection { return .locked("another writer is at work (status 409)") }
            let what = address.isS3 ? "no such bucket" : "no such folder"
            return .refused("\(what) (status \(status))")
        case 404, 410: return .absent
        case 401, 403: return .refused(refusal(status, isWrite: isWrite))
        case 413 where isWrite: return .refusedBlob("it is too large (status 413)")
        case 429: return .busy(Self.standardRest)
        case 501 where isWrite, 507 where isWrite:
            return .refused(status == 507 ? "its storage is full (status 507)" : "it takes no uploads (status 501)")
        case 500...599: return .failed("status \(status)")
        case 405 where isWrite: return .refused("it takes no uploads (status 405)")
        default: return isWrite ? .refused("status \(status)") : .refused("it cannot be read (status \(status))")
        }
    }

    private func refusal(_ status: Int, isWrite: Bool) -> String {
        if isWrite { return "it does not allow uploads (status \(status))" }
        guard address.isS3 else { return "it does not allow reading (status \(status))" }
        return address.signing == nil
            ? "it does not allow reading (status \(status)); AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"
            : "it does not allow reading (status \(status)); a missing image has this status too if the key may not "
                + "list the bucket"
    }

    // MARK: Collections

    /// Makes the collections above a blob that could not be written, once. Returns false if that was done already.
    private func makeCollections(_ transfer: LayerTransfer) -> Bool {
        guard address.signing == nil, !address.isS3, !transfer.hasMadeCollections else { return false }
        transfer.hasMadeCollections = true
        next(RemoteLayout.collections(above: address.path(of: transfer.request))[...], transfer)
        return true
    }

    private func madeCollection(
        _ path: String, _ rest: ArraySlice<String>, _ transfer: LayerTransfer,
        _ result: Result<TransferResponse, TransferError>
    ) -> CacheLayerAnswer? {
        // 405 says that the collection exists. After any other failure, the upload fails if the collection is missing.
        let isMade =
            switch result {
            case .success, .failure(.httpStatus(405, _)): true
            case .failure: false
            }
        let waiting = state.withLock { state in
            defer { state.collections[path] = isMade ? .made : nil }
            if case .making(let waiting)? = state.collections[path] { return waiting }
            return []
        }
        transfer.request.noteActivity()
        for waiting in waiting {
            if !isMade { waiting.transfer.lacksCollection = true }
            next(waiting.rest, waiting.transfer)
        }
        if case .failure(let error) = result, !isMade {
            if !error.isStatus { return .failed(error.message) }
            transfer.lacksCollection = true
        }
        next(rest, transfer)
        return nil
    }

    /// Makes the next collection, or repeats the upload after the last one.
    private func next(_ paths: ArraySlice<String>, _ transfer: LayerTransfer) {
        var paths = paths
        var first: String?
        while first == nil, let path = paths.popFirst() {
            let rest = paths
            let isWaiting = state.withLock { state in
                switch state.collections[path] {
                case .made: return false
                case .making(let waiting):
                    state.collections[path] = .making(waiting + [(transfer, rest)])
                    return true
                case nil:
                    state.collections[path] = .making([])
                    first = path
                    return false
                }
            }
            if isWaiting { return }
        }
        guard let path = first else {
            transfer.step = .transfer
            do throws(KingfisherError) {
                begin([start(of: transfer, try body(of: transfer.request))])
            } catch {
                transfer.request.end(.refusedBlob(error.message))
            }
            return
        }
        transfer.step = .makeCollections(path, rest: paths)
        var request = TransferRequest(url: address.root + path + "/", terms: writing)
        request.method = .makeCollection
        begin([TransferStart(request, sink: transfer, receiver: self, token: transfer)])
    }
}

extension HTTPCacheLayer: TransferReceiver {
    func ended(_ ended: [EndedTransfer]) {
        var answers: [(CacheLayerRequest, CacheLayerAnswer)] = []
        answers.reserveCapacity(ended.count)
        for ended in ended {
            guard let transfer = ended.token as? LayerTransfer else { continue }
            if let answer = took(transfer, ended) { answers.append((transfer.request, answer)) }
        }
        CacheLayerRequest.end(answers)
    }

    /// Has no gates.
    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        answer(gates.map { _ in true })
    }
}

/// The transfers of one request: its own, and those that make collections.
///
/// `@unchecked Sendable`, because only the network thread uses its state after the start.
private final class LayerTransfer: TransferSink, @unchecked Sendable {
    enum Step {
        case transfer
        case makeCollections(String, rest: ArraySlice<String>)
    }

    let request: CacheLayerRequest
    var step = Step.transfer
    var hasMadeCollections = false
    /// Whether a collection above the blob could not be made.
    var lacksCollection = false

    init(_ request: CacheLayerRequest) { self.request = request }

    var isWrite: Bool { if case .write = request.operation { true } else { false } }

    private var isRead: Bool { if case .read = request.operation { true } else { false } }

    func begin(_ head: ResponseHead) throws(SinkError) { request.noteActivity() }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        guard isRead else { return }
        if !request.receive(bytes) { throw SinkError(reason: "the blob is too long") }
    }

    static let digestOfNothing = SHA256.hash(UnsafeRawBufferPointer(start: nil, count: 0)).hex

    static func digest(of body: CacheLayerBody) -> String {
        guard case .bytes(let bytes) = body else { return digestOfNothing }
        return bytes.withUnsafeBytes { SHA256.hash($0) }.hex
    }
}

extension TransferError {
    /// Whether the server has answered with a status.
    fileprivate var isStatus: Bool { if case .httpStatus = self { true } else { false } }
}
