import KFNetwork

extension RequestOptions {
    /// The identity is known without running the modifier.
    var isPrepared: Bool { modifier == nil || prepared != nil || modifier?.cacheIdentity != nil }

    /// The headers that are sent, as far as they are known.
    var sentHeaders: [(name: String, value: String)] { prepared?.headers ?? headers }

    /// The request as far as it is known.
    func request(to url: RequestURL) -> PreparedRequest {
        prepared ?? PreparedRequest(url: url, credentials: url.credentials ?? transfer.credentials, headers: headers)
    }

    /// The options with the modifier's request in them, unless the modifier names an identity and may run later. Throws
    /// `emptyRequest` (1001) or `invalidURL` (1002).
    func prepared(for url: RequestURL) async throws(KingfisherError) -> RequestOptions {
        guard !isPrepared else { return self }
        var options = self
        options.prepared = try await modifiedRequest(to: url)
        return options
    }

    /// Runs the modifier. Where it leads to another origin, secrets that the options hold for the first one stay behind.
    func modifiedRequest(to url: RequestURL) async throws(KingfisherError) -> PreparedRequest {
        guard let modifier else { return request(to: url) }
        guard let modified = await modifier.modified(for: ImageDownloadRequest(url: url, headers: headers)) else {
            throw .requestError(reason: .emptyRequest)
        }
        guard let target = modified.url else {
            throw .requestError(reason: .invalidURL(problem: "the request modifier left no URL"))
        }
        if target.isSameOrigin(as: url) {
            return PreparedRequest(
                url: target, credentials: target.credentials ?? transfer.credentials, headers: modified.headers)
        }
        let kept = modified.headers.filter { header in
            RequestField.mayChangeOrigin(header.name) || !headers.contains { $0 == header }
        }
        return PreparedRequest(url: target, credentials: target.credentials, headers: kept)
    }

    /// The options for a source that is asked in place of another. Credentials and headers that may be secrets belong to
    /// the origin of the first.
    func asking(_ alternative: Source, insteadOf source: Source) -> RequestOptions {
        var options = self
        options.prepared = nil
        if case .network(let one) = source, case .network(let other) = alternative,
            other.downloadURL.isSameOrigin(as: one.downloadURL)
        {
            return options
        }
        options.transfer.credentials = nil
        options.headers.removeAll { !RequestField.mayChangeOrigin($0.name) }
        return options
    }
}
