import KFImaging
import KFStorage
import KFTerms
import Synchronization

extension ImageDownloader {
    /// Downloads an image and processes it, without reading or filling a cache. `progressBlock` is called on the
    /// options' ``KingfisherOptions/callbackQueue``.
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        let options = KingfisherOptions(options ?? []).reporting(to: progressBlock)
        return try await downloadImage(with: url, options: options, progress: options.progress)
    }

    /// Downloads an image like the `async` function. `completionHandler` is called exactly once, on the options'
    /// ``KingfisherOptions/callbackQueue``.
    @discardableResult
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<ImageLoadingResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        let options = KingfisherOptions(options ?? []).reporting(to: progressBlock)
        return DownloadTask(callingBackOn: options.callbackQueue, completionHandler) {
            () async throws(KingfisherError) in
            try await self.downloadImage(with: url, options: options, progress: options.progress)
        }
    }

    /// Downloads an image with all options given. `progress` is called on the network thread.
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptions, progress: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        var options = options
        options.request = try await options.request.prepared(for: url)
        options.cacheMemoryOnly = true
        // No cache takes part, so the options for caches must not change the request or the accepted statuses.
        options.forceRefresh = false
        options.cachePolicy = .timeToLive
        let download = DirectDownload(url, OptionsBox(options), progress, self)
        return try await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in download.start(continuation) }
        } onCancel: {
            download.cancel()
        }.get()
    }
}

/// A waiting call of `downloadImage`.
private final class DirectDownload: WorkWaiter {
    typealias Outcome = Result<ImageLoadingResult, KingfisherError>

    private struct State {
        var continuation: UnsafeContinuation<Outcome, Never>?
        var hasEnded = false
        var work: (any SharedWork)?
        /// The downloaded image, while it is processed.
        var image: DownloadedImage?
    }

    private let url: RequestURL
    private let box: OptionsBox
    private let downloader: ImageDownloader
    private let delegate: (any ImageDownloaderDelegate)?
    let wish: Wish
    private let state = Mutex(State())

    init(_ url: RequestURL, _ box: OptionsBox, _ progress: ProgressHandler?, _ downloader: ImageDownloader) {
        self.url = url
        self.box = box
        self.downloader = downloader
        delegate = downloader.delegate
        wish = Wish(priority: box.value.request.priority, progress: progress)
    }

    func start(_ continuation: UnsafeContinuation<Outcome, Never>) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.continuation = continuation }
            return state.hasEnded
        }
        if hasEnded { return continuation.resume(returning: .failure(.requestError(reason: .taskCancelled))) }
        let download = ImageDownload(
            url, box.download, wish, from: downloader, tap: box.value.request.onDataReceived)
        downloader.download([(download, self)])
    }

    func waits(for work: any SharedWork) -> Bool {
        state.withLock { state in
            state.work = work
            return !state.hasEnded
        }
    }

    func cancel() {
        let work = state.withLock { $0.work }
        end(.failure(.requestError(reason: .taskCancelled)))
        if let work { work.table.leave(work, self) }
    }

    private func end(_ outcome: Outcome) {
        let continuation = state.withLock { state in
            state.hasEnded = true
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: outcome)
    }

    func arrived(_ answer: WorkAnswer, _ turn: inout Turn) {
        switch answer {
        case .image(let image): process(image, &turn)
        case .refused(let error, _, _, _), .failed(let error), .made(_, .failure(let error)): end(.failure(error))
        case .unchanged(let facts, _, _):
            end(.failure(.responseError(reason: .invalidHTTPStatusCode(facts.status))))
        case .stored, .absent, .imported:
            end(.failure(.responseError(reason: .noURLResponse)))
        case .made(_, .success(let made)):
            guard let image = state.withLock({ $0.image }) else { return }
            let bytes = Result { () throws(KingfisherError) in try image.bytes.load() }
            end(
                bytes.map {
                    ImageLoadingResult(
                        image: made.image, url: image.url ?? url, originalData: $0, response: image.response)
                })
        }
    }

    private func process(_ image: DownloadedImage, _ turn: inout Turn) {
        do throws(KingfisherError) { try image.check(box.value.expectedHash) } catch { return end(.failure(error)) }
        state.withLock { $0.image = image }
        let identifier = (box.value.decoding + [box.value.processor.identifier]).joined(separator: "|>")
        ImageMaking.join(
            self, in: downloader.work,
            MakeKey(
                original: .downloaded(ObjectIdentifier(image)), target: EntryKey(key: "", identifier: identifier)),
            ImageMaking.Order(
                original: .downloaded(image), box: box, encodes: false, told: image.telling(delegate))
        ) { StoreWorkers.makers.add([$0]) }
    }
}

/// A downloaded image. Kingfisher's `ImageLoadingResult`.
public struct ImageLoadingResult: Sendable {
    /// The decoded and processed image.
    public let image: Image
    /// The URL that was requested, after the request modifier and before redirects.
    public let url: RequestURL
    /// The original bytes, as they arrived or as the delegate changed them.
    public let originalData: [UInt8]
    /// The response of the server.
    public let response: ResponseFacts?
}
