import Foundation
import KFCore

// What Kingfisher's downloader has and this one does not, or under another name.
//
// The compiler refuses every call, so that no body runs: `fatalError` stands where a value would be returned.

extension ImageDownloader {
    @available(*, unavailable, message: "a downloader has no name: ImageDownloader()")
    public convenience init(name: String) { fatalError() }

    @available(
        *, unavailable, message: "an option of each request: .with { $0.request.timeout = 60 }, also in defaultOptions"
    )
    public var downloadTimeout: TimeInterval {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "an option of each request: .with { $0.request.trustedHosts = [host] }")
    public var trustedHosts: Set<String>? {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "use ImageDownloader.Configuration, and RequestOptions for each request")
    public var sessionConfiguration: Never {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "set delegate, an ImageDownloaderDelegate")
    public var sessionDelegate: Never {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "connections are reused, and HTTP/2 is used where the server offers it")
    public var requestsUsePipelining: Bool {
        get { fatalError() }
        set {}
    }
}

extension ImageDownloadRequest {
    @available(*, unavailable, message: "an option of the call: .with { $0.request.timeout = 60 }")
    public var timeoutInterval: TimeInterval {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "images are requested with GET")
    public var httpMethod: String? {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "images are requested with GET, which has no body")
    public var httpBody: Data? {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "an option of the call: .forceRefresh, or .cachePolicy(.http)")
    public var cachePolicy: Never {
        get { fatalError() }
        set {}
    }
}

extension DownloadTask {
    @available(*, unavailable, message: "a DownloadTask is always one call: cancel() ends that call alone")
    public var sessionTask: SessionDataTask? { fatalError() }

    @available(*, unavailable, message: "a DownloadTask is always one call: cancel() ends that call alone")
    public var cancelToken: Int? { fatalError() }

    @available(*, unavailable, message: "a DownloadTask is one from the start")
    public var isInitialized: Bool { fatalError() }
}

@available(*, unavailable, message: "a delegate and a redirect handler get the URL, the request or the response")
public final class SessionDataTask {}

@available(*, unavailable, message: "set ImageDownloader.delegate, an ImageDownloaderDelegate")
public class SessionDelegate {}

extension AnyRedirectHandler {
    @available(
        *, unavailable,
        message:
            "the closure is { status, url, newRequest in … } and returns the request, or nil to refuse the redirect"
    )
    public init(
        cacheIdentity: String? = nil,
        handle:
            @escaping @Sendable (
                SessionDataTask, ResponseFacts, ImageDownloadRequest, @escaping (ImageDownloadRequest?) -> Void
            ) -> Void
    ) { fatalError() }
}

extension ImageDownloadRedirectHandler {
    @available(*, unavailable, renamed: "handleRedirection(status:from:newRequest:)")
    public func handleHTTPRedirection(
        for task: SessionDataTask, response: ResponseFacts, newRequest: ImageDownloadRequest
    ) async -> ImageDownloadRequest? { nil }
}

extension ImageDownloadRequestModifier {
    @available(*, unavailable, message: "await modified(for:), which returns the request")
    public func modified(
        for request: ImageDownloadRequest, reportModified: @escaping (ImageDownloadRequest?) -> Void
    ) {}
}

extension RetryStrategy {
    @available(*, unavailable, message: "await decide(_:), which returns the decision")
    public func retry(context: RetryContext, retryHandler: @escaping @Sendable (RetryDecision) -> Void) {}
}

extension RetryDecision {
    @available(
        *, unavailable, message: "use .retry(after: delay); RetryContext.userInfo.value keeps a value between decisions"
    )
    public static func retry(userInfo: Any?) -> RetryDecision { fatalError() }
}

extension DelayRetryStrategy {
    @available(*, unavailable, message: "await decide(_:), which returns the decision")
    public func retry(context: RetryContext, retryHandler: @escaping @Sendable (RetryDecision) -> Void) {}
}

extension ImageLoadingResult {
    @available(*, unavailable, message: "use response?.metrics")
    public var metrics: DownloadMetrics? { fatalError() }
}

extension RetrieveImageResult {
    @available(*, unavailable, message: "decoding takes time, and may fail: try await image()")
    public var image: Image { fatalError() }

    @available(*, unavailable, message: "use response?.metrics")
    public var metrics: DownloadMetrics? { fatalError() }
}
