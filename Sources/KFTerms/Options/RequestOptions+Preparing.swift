import KFNetwork

extension RequestOptions {
    /// Whether the identity of the request is known without running the modifier.
    package var isPrepared: Bool { modifier == nil || prepared != nil || modifier?.cacheIdentity != nil }

    /// The headers of the request: the modifier's if it has run, otherwise those of the options.
    package var sentHeaders: [(name: String, value: String)] { prepared?.headers ?? headers }

    /// Returns the modified request, or before the modifier has run, the request of the options.
    package func request(to url: RequestURL) -> PreparedRequest {
        prepared ?? PreparedRequest(url: url, credentials: url.credentials ?? transfer.credentials, headers: headers)
    }

    /// Returns the options with the modifier's request in them. A modifier that names an identity runs later. Throws
    /// `emptyRequest` (1001) or `invalidURL` (1002).
    package func prepared(for url: RequestURL) async throws(KingfisherError) -> RequestOptions {
        guard !isPrepared else { return self }
        var options = self
        options.prepared = try await modifiedRequest(to: url)
        return options
    }

    /// Runs the modifier. If it changes the origin, credentials and headers that may be secrets are left out.
    package func modifiedRequest(to url: RequestURL) async throws(KingfisherError) -> PreparedRequest {
        guard let modifier else { return request(to: url) }
        guard let modified = await modifier.modified(for: ImageDownloadRequest(url: url, headers: headers)) else {
            throw .requestError(reason: .emptyRequest)
        }
        guard let target = modified.url else {
            throw .requestError(reason: .invalidURL(problem: "the request modifier returned a request without a URL"))
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

    /// Returns the options for an alternative source. Credentials and headers that may be secrets stay with the first
    /// origin.
    package func asking(_ alternative: Source, insteadOf source: Source) -> RequestOptions {
        if case .network(let one) = source, case .network(let other) = alternative,
            other.downloadURL.isSameOrigin(as: one.downloadURL)
        {
            var options = self
            options.prepared = nil
            return options
        }
        return withoutSecrets
    }

    /// The options without credentials and without headers that may be secrets.
    var withoutSecrets: RequestOptions {
        var options = self
        options.prepared = nil
        options.transfer.credentials = nil
        options.headers.removeAll { !RequestField.mayChangeOrigin($0.name) }
        return options
    }
}
