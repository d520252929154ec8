/// A request as it is about to be made. A modifier or a redirect handler may change it.
public struct ImageDownloadRequest: Sendable {
    /// Nil is a request that cannot be made: `invalidURL` (1002).
    public var url: RequestURL?
    /// Beside those that kf sends by itself, such as User-Agent.
    public var headers: [(name: String, value: String)]

    /// A request in place of the one that was to be made.
    public init(url: RequestURL?, headers: [(name: String, value: String)] = []) {
        self.url = url
        self.headers = headers
    }
}

/// Changes requests ahead of their being made, to sign them for example. Kingfisher's `AsyncImageDownloadRequestModifier`.
public protocol ImageDownloadRequestModifier: Sendable {
    /// Nil makes no request: `emptyRequest` (1001).
    func modified(for request: ImageDownloadRequest) async -> ImageDownloadRequest?
}

/// A modifier made of a closure.
public struct AnyModifier: ImageDownloadRequestModifier {
    private let modify: @Sendable (ImageDownloadRequest) async -> ImageDownloadRequest?

    /// `modify` is called as `modified(for:)` is, from any thread.
    public init(modify: @escaping @Sendable (ImageDownloadRequest) async -> ImageDownloadRequest?) {
        self.modify = modify
    }

    public func modified(for request: ImageDownloadRequest) async -> ImageDownloadRequest? { await modify(request) }
}
