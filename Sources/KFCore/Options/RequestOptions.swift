import Glibc
import KFNetwork

/// How an origin is asked for an image.
@dynamicMemberLookup
public struct RequestOptions: Sendable {
    /// How the transfer is made, and its limits. Each property of `TransferOptions` is one of these options as well.
    public var transfer = TransferOptions()
    /// Sent as they are to the origin (scheme, host, port) of the URL. Redirects and alternatives to other origins get
    /// only fields that hold no secret, such as Accept. Each header is part of the cache key unless it is neutral: see
    /// <doc:Identity>.
    public var headers: [(name: String, value: String)] = []
    /// From 0 to 1; the larger goes first among those that wait.
    public var priority: Float = 0.5
    /// The key of what comes is the URL without its query: for signatures and the like that change each time.
    public var ignoresQuery = false
    /// Names of query parameters that are not part of the key, for signed URLs: `*`, `?` and `[…]` match as in a shell.
    /// The request has them all the same.
    public var ignoredParameters: [String] = []
    /// The text of a URL in the key, in place of its normal form; the two options above are not looked at then. URLs with
    /// the same text share one image. Everything that identifies the requester stays part of the key. Called once or more
    /// for each call, from any thread.
    public var cacheKeyFilter: (@Sendable (RequestURL) -> String)?
    /// Changes the request before the caches are asked, or, if it names an identity, before the transfer.
    public var modifier: (any ImageDownloadRequestModifier)?
    /// Has a say in redirects.
    public var redirectHandler: (any ImageDownloadRedirectHandler)?

    /// Sees every piece of the body as it comes, on the network's thread. A call with it has a transfer of its own. The
    /// buffer is valid during the call.
    public var onDataReceived: (@Sendable (UnsafeRawBufferPointer) -> Void)?

    /// What the modifier made of the request, once it has run.
    var prepared: PreparedRequest?
    /// The identity that the downloader's challenge responder names.
    var responderIdentity: String?

    /// The defaults.
    public init() {}

    /// An option of the transfer, such as `timeout` or `credentials`.
    @inlinable public subscript<Value>(dynamicMember option: WritableKeyPath<TransferOptions, Value>) -> Value {
        get { transfer[keyPath: option] }
        set { transfer[keyPath: option] = newValue }
    }
}

extension RequestOptions {
    /// What the key of a URL begins with.
    func keyText(of url: RequestURL) -> String {
        if let cacheKeyFilter { return cacheKeyFilter(url) }
        if ignoresQuery { return url.withoutQuery }
        return ignoredParameters.isEmpty ? url.text : url.without(parameters: ignoredParameters)
    }
}

extension RequestURL {
    /// The normal form without the query parameters whose names match one of the patterns; without a query when all do.
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
