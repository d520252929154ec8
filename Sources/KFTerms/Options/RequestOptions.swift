import Glibc
import KFNetwork
import KFSystem

/// The options of a request to an origin.
@dynamicMemberLookup
public struct RequestOptions: Sendable {
    /// The options of the transfer and its limits. Each property of ``TransferOptions`` is also a property here.
    public var transfer = TransferOptions()
    /// The headers for the origin (scheme, host, port) of the URL. Redirects and alternatives to other origins get only
    /// headers that hold no secret, such as Accept. Range and the headers of conditions (If-None-Match) fail. Each header is part of the cache key unless it is neutral: see
    /// <doc:Identity>.
    public var headers: [(name: String, value: String)] = []
    /// The priority among waiting transfers, from 0 to 1; higher values start first. The default is 0.5.
    public var priority: Float = 0.5
    /// Whether the key is the URL without its query string, for signatures and other parts that change with each
    /// request.
    public var ignoresQuery = false
    /// Patterns for the names of query parameters that are not part of the key, for signed URLs. `*`, `?` and `[…]`
    /// match as in a shell. The request contains all parameters.
    public var ignoredParameters: [String] = []
    /// A closure that returns the text of a URL in the key, in place of its normal form. The two options above then
    /// have no effect. URLs with the same text share one image. Everything that identifies the requester stays part of
    /// the key. Called at least once per call, from any thread.
    public var cacheKeyFilter: (@Sendable (RequestURL) -> String)?
    /// The mirrors, which are asked in their order before the URL of the source. They get no credentials of the source, no
    /// headers that may hold a secret, and no parameters that the two options above name. The key is that of the source. Use
    /// them with ``KingfisherOptions/expectedHash`` or a lock if they are not trusted.
    public var mirrors: [SourceMirror] = []
    /// Called when a mirror has not brought an image, with its URL and the error, on any thread.
    public var onMirrorFailure: (@Sendable (RequestURL, KingfisherError) -> Void)?
    /// A modifier of the request. It runs before the look-up or, if it names an identity, before the transfer.
    public var modifier: (any ImageDownloadRequestModifier)?
    /// A handler that may change or refuse redirects.
    public var redirectHandler: (any ImageDownloadRedirectHandler)?

    /// Called with each piece of the body as it arrives, on the network thread. A call with this option has a transfer
    /// of its own. The buffer is valid only during the call.
    public var onDataReceived: (@Sendable (UnsafeRawBufferPointer) -> Void)?

    /// The request that the modifier returned; nil before it has run.
    package var prepared: PreparedRequest?
    /// The identity that the downloader's challenge responder names.
    package var responderIdentity: String?

    /// Creates the defaults.
    public init() {}

    /// Returns whether ``headers`` may not have the header: it makes a range or a condition, which kf does by itself.
    package static func isReserved(_ header: String) -> Bool { RequestField.isReserved(header) }

    /// An option of the transfer, such as `timeout` or `credentials`.
    @inlinable public subscript<Value>(dynamicMember option: WritableKeyPath<TransferOptions, Value>) -> Value {
        get { transfer[keyPath: option] }
        set { transfer[keyPath: option] = newValue }
    }
}

extension RequestOptions {
    /// Returns the text that begins the key of a URL.
    package func keyText(of url: RequestURL) -> String {
        if let cacheKeyFilter { return cacheKeyFilter(url) }
        if ignoresQuery { return url.withoutQuery }
        return ignoredParameters.isEmpty ? url.text : url.without(parameters: ignoredParameters)
    }
}

extension RequestURL {
    /// Returns the normal form without the parameters that match a pattern. If all match, the query is left out.
    fileprivate func without(parameters patterns: [String]) -> String {
        guard let mark = text.firstIndex(of: "?") else { return text }
        let query = text[text.index(after: mark)...]
        let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { parameter in
            let name = PercentCoding.decode(parameter.prefix { $0 != "=" })
            return !patterns.contains { fnmatch($0, name, 0) == 0 }
        }
        if kept.isEmpty { return withoutQuery }
        return text[...mark] + kept.joined(separator: "&")
    }
}
