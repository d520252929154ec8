import KFImaging
import KFNetwork
import KFStorage
import Synchronization

/// Downloads images and checks them. Kingfisher's `ImageDownloader`.
///
/// Who wants the same thing at the same time shares one transfer: the same URL with the same headers. Each can leave on
/// its own by cancelling its task; the last one to leave ends the transfer.
public final class ImageDownloader: Sendable {
    public struct Configuration: Sendable {
        /// Transfers at once, in all and to one host.
        public var maxConnections = 64
        public var maxConnectionsPerHost = 8
        /// Starts per second to one host; nil is no limit.
        public var ratePerHost: Double?
        /// A host that has failed so often in a row is left alone for a while; 0 asks it on and on.
        public var failuresToOpenCircuit = 10
        public var circuitSpan = Duration.seconds(60)

        public init() {}
    }

    /// Bodies with the same bytes, wherever they come from.
    struct DownloadKey: Hashable, Sendable {
        let url: String
        let request: Digest
        let condition: RequestCondition?
    }

    private let transport: any Transport
    private let circuits: HostCircuits
    private let downloads = JoinedTasks<DownloadKey, DownloadAnswer>()
    private let weakDelegate = Mutex(WeakDelegates())

    public convenience init(_ configuration: Configuration = Configuration()) {
        var engine = EngineConfiguration()
        engine.maxConnections = configuration.maxConnections
        engine.maxPerHost = configuration.maxConnectionsPerHost
        engine.ratePerHost = configuration.ratePerHost
        self.init(configuration, transport: TransferEngine(configuration: engine))
    }

    init(_ configuration: Configuration, transport: any Transport) {
        self.transport = transport
        circuits = HostCircuits(
            terms: .init(failures: configuration.failuresToOpenCircuit, span: configuration.circuitSpan))
    }

    /// Is told of every transfer; held weakly.
    public var delegate: (any ImageDownloaderDelegate)? {
        get { weakDelegate.withLock { $0.delegate } }
        set { weakDelegate.withLock { $0.delegate = newValue } }
    }

    /// Answers servers that ask who asks; held weakly. Without one, `RequestOptions` alone say it.
    public var authenticationChallengeResponder: (any AuthenticationChallengeResponsible)? {
        get { weakDelegate.withLock { $0.responder } }
        set { weakDelegate.withLock { $0.responder = newValue } }
    }

    private struct WeakDelegates {
        weak var delegate: (any ImageDownloaderDelegate)?
        weak var responder: (any AuthenticationChallengeResponsible)?
    }

    /// Ends every transfer of this URL; all who wait for it get `taskCancelled` (1003).
    public func cancel(url: RequestURL) { downloads.cancel { $0.url == url.text } }

    /// Ends every transfer.
    public func cancelAll() { downloads.cancel { _ in true } }

    /// From now on nothing is downloaded but what is on its way.
    public func drain() { transport.drain() }

    /// Ends the transfers that still run and the thread that drives them. To be called before the process exits.
    public func shutdown() { transport.shutdown() }

    /// Downloads an image and processes it; neither asks a cache nor fills one.
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptions = KingfisherOptions(), progress: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        let wish = Wish(priority: options.request.priority, progress: progress)
        let answer = try await download(
            url, options.request, condition: nil, limits: options.decodeLimits, store: nil, wish: wish)
        guard case .image(let body) = answer else {
            throw .responseError(reason: .invalidHTTPStatusCode(304))
        }
        let bytes = try body.bytes.load()
        let processor = options.processor
        let identifier = (options.decoding + [processor.identifier]).joined(separator: "|>")
        let image = try await body.images.value(for: identifier) { [delegate] () async throws(KingfisherError) in
            let image = try await WorkerPool.processing.run { () throws(KingfisherError) in
                do throws(ImagingError) {
                    return try processor.process(.data(bytes), options: options.processing)
                } catch {
                    throw KingfisherError(processing: error, identifier: identifier)
                }
            }
            delegate?.imageDownloader(didDownload: image, for: url, with: body.response)
            return image
        }
        return ImageLoadingResult(image: image, url: url, originalData: bytes, response: body.response)
    }

    /// The bytes of one image, whole and checked. Large ones are written to a file of `store` while they come.
    func download(
        _ url: RequestURL, _ options: RequestOptions, condition: RequestCondition?, limits: DecodeLimits,
        store: BodyStore?, wish: Wish
    ) async throws(KingfisherError) -> DownloadAnswer {
        let key = DownloadKey(
            url: url.text, request: RequestIdentity.digest(url, options), condition: condition)
        return try await downloads.value(for: key, wish: wish) { [self] wishes async throws(KingfisherError) in
            let download = ImageDownload(
                transport: transport, circuits: circuits, delegate: delegate,
                responder: authenticationChallengeResponder, url: url, options: options, condition: condition,
                limits: limits, store: store,
                wishes: wishes)
            return try await download.run()
        }
    }
}

/// A downloaded image. Kingfisher's `ImageLoadingResult`.
public struct ImageLoadingResult: Sendable {
    public let image: Image
    public let url: RequestURL
    /// The bytes as they came, or as the delegate changed them.
    public let originalData: [UInt8]
    public let response: ResponseFacts?
}
