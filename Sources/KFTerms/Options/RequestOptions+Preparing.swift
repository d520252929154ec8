import KFNetwork

extension RequestOptions {
    /// Whether the identity of the request is known without running the modifier.
    package var isPrepared: Bool { modifier == nil || prepared != nil || modifier?.cacheIdentity != nil }

    /// The headers of the request: the modifier's if it has run, otherwise those of the options.
    package var sentHeaders: [(name: String, value: String)] { prepared?.scope.headers ?? headers }

    /// What the options carry for the origin of the source.
    private var scope: OriginScope {
        OriginScope(
            headers: headers, credentials: transfer.credentials, clientCertificate: transfer.clientCertificate)
    }

    /// Returns the modified request, or before the modifier has run, the request of the options.
    package func request(to url: RequestURL) -> PreparedRequest {
        prepared ?? PreparedRequest(url: url, scope: scope.with(url.credentials))
    }

    /// Returns the options with the modifier's request in them. A modifier that names an identity runs later. Throws
    /// `emptyRequest` (1001) or `invalidURL` (1002).
    package func prepared(for url: RequestURL) async throws(KingfisherError) -> RequestOptions {
        guard !isPrepared else { return self }
        var options = self
        options.prepared = try await modifiedRequest(to: url)
        return options
    }

    /// Runs the modifier. Headers that it adds are its own, whatever the origin.
    package func modifiedRequest(to url: RequestURL) async throws(KingfisherError) -> PreparedRequest {
        guard let modifier else { return request(to: url) }
        guard let modified = await modifier.modified(for: ImageDownloadRequest(url: url, headers: headers)) else {
            throw .requestError(reason: .emptyRequest)
        }
        guard let target = modified.url else {
            throw .requestError(reason: .invalidURL(problem: "the request modifier returned a request without a URL"))
        }
        var scope = target.isSameOrigin(as: url) ? scope : scope.outside
        let allowed = scope.headers
        scope.headers = modified.headers.filter { header in
            allowed.contains { $0 == header } || !headers.contains { $0 == header }
        }
        return PreparedRequest(url: target, scope: scope.with(target.credentials))
    }

    /// Returns the options for an alternative source.
    package func asking(_ alternative: Source, insteadOf source: Source) -> RequestOptions {
        guard case .network(let one) = source, case .network(let other) = alternative,
            other.downloadURL.isSameOrigin(as: one.downloadURL)
        else { return outsideScope }
        var options = self
        options.prepared = nil
        return options
    }

    /// The options for a URL that no source of the call names: a mirror, an overlay, or an image in place of one that failed.
    package var outsideScope: RequestOptions {
        let outside = scope.outside
        var options = self
        options.prepared = nil
        options.headers = outside.headers
        options.transfer.credentials = outside.credentials
        options.transfer.clientCertificate = outside.clientCertificate
        return options
    }
}

extension OriginScope {
    /// Returns the scope with the user info of its URL, which takes precedence.
    fileprivate func with(_ userInfo: Credentials?) -> OriginScope {
        var scope = self
        scope.credentials = userInfo ?? credentials
        return scope
    }
}
