import KFImaging
import KFNetwork
import KFStorage

/// Downloads images and checks them. Kingfisher's `ImageDownloader`.
public final class ImageDownloader: Sendable {
    public struct Configuration: Sendable {
        /// Transfers at once, in all and to one host.
        public var maxConnections = 64
        public var maxConnectionsPerHost = 8
        /// Requests started per second to one host; nil is as many as come.
        public var ratePerHost: Double?

        public init() {}
    }

    private let engine: TransferEngine

    public init(_ configuration: Configuration = Configuration()) {
        var engine = EngineConfiguration()
        engine.maxConnections = configuration.maxConnections
        engine.maxPerHost = configuration.maxConnectionsPerHost
        engine.ratePerHost = configuration.ratePerHost
        self.engine = TransferEngine(configuration: engine)
    }

    /// From now on nothing is downloaded but what is on its way.
    public func drain() { engine.drain() }

    /// Ends the transfers that still run and the thread that drives them. To be called before the process exits.
    public func shutdown() { engine.shutdown() }

    /// The bytes of one image, whole and checked. Large ones are written to a file of `cache` while they come.
    func download(
        _ url: RequestURL, _ options: RequestOptions, limits: DecodeLimits, cache: ImageCache?
    ) async throws(KingfisherError) -> DownloadedImage {
        let sink = BodySink(stage: { () throws(StorageError) in try cache?.stage() })
        let response: TransferResponse
        do {
            response = try await engine.perform(Self.request(url, options), sink: sink)
        } catch {
            throw KingfisherError(transfer: error)
        }
        return try await WorkerPool.processing.run { () throws(KingfisherError) in
            do {
                let bytes = try sink.finish(synchronize: false)
                let (format, info) = try bytes.withBytes { bytes throws(KingfisherError) in
                    try ImageInspector.inspect(bytes, limits: limits)
                }
                return DownloadedImage(
                    bytes: bytes, format: format, info: info, size: bytes.size, response: ResponseFacts(response))
            } catch let error as StorageError {
                throw KingfisherError(writing: error)
            } catch let error as KingfisherError {
                throw error
            } catch {
                preconditionFailure("neither storage nor inspection: \(error)")
            }
        }
    }

    private static func request(_ url: RequestURL, _ options: RequestOptions) -> TransferRequest {
        var transfer = TransferOptions()
        transfer.timeout = options.timeout
        transfer.maxTime = options.maxTime
        transfer.maxRedirects = options.maxRedirects
        transfer.maxBytes = options.maxBytes
        transfer.userAgent = options.userAgent
        transfer.credentials = url.credentials.map { .init(user: $0.user, password: $0.password) }
        var request = TransferRequest(url: url.text, headers: options.headers, options: transfer)
        request.priority = options.priority
        return request
    }
}

extension ResponseFacts {
    /// The header fields that RFC 9111 decides by.
    private static let kept = ["cache-control", "expires", "date", "age", "vary"]

    init(_ response: TransferResponse) {
        let headers = response.head.headers
        status = response.head.status
        etag = headers["etag"]
        lastModified = headers["last-modified"]
        let lines = Self.kept.flatMap { name in headers.all(name).map { "\(name): \($0)" } }
        freshness = lines.isEmpty ? nil : lines.joined(separator: "\n")
        var metrics = DownloadMetrics()
        metrics.dns = response.metrics.dns
        metrics.connect = response.metrics.connect
        metrics.tls = response.metrics.tls
        metrics.firstByte = response.metrics.firstByte
        metrics.total = response.metrics.total
        metrics.receivedBytes = response.metrics.receivedBytes
        metrics.protocolName = response.metrics.protocolName
        self.metrics = metrics
    }
}
