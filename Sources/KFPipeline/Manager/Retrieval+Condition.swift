import KFNetwork
import KFRemote
import KFStorage
import KFTerms

extension Retrieval {
    /// The digest of the source's URL, if the key does not contain it. Signatures in the query do not count.
    private var namedPlace: String? {
        guard case .network(let resource) = source, resource.cacheKey != resource.downloadURL.cacheKey else {
            return nil
        }
        return RequestCondition.digest(of: resource.downloadURL.withoutQuery)
    }

    /// Whether the request identifies a user and the key, which a program named, does not say so.
    var isSecretlyPersonal: Bool { namedPlace != nil && !isShareable }

    /// Returns the digest of the URL that gave a response; nil if the key contains that URL.
    func place(of response: ResponseFacts) -> String? {
        response.redirects.isEmpty && response.mirror == nil ? namedPlace : RequestCondition.digest(of: response.url)
    }

    /// Returns the condition of a request that revalidates an entry; nil if the entry has no validator, or if that may be
    /// the validator of another URL. `url` is the place that an entry under a named key has without a line for it.
    private func condition(
        _ etag: String?, _ lastModified: String?, _ freshness: String?, named url: String? = nil
    ) -> RequestCondition? {
        let place = HeaderLines(freshness).place
        guard let namedPlace else { return RequestCondition(etag, lastModified, from: place) }
        return (place ?? url).flatMap { RequestCondition(etag, lastModified, from: $0 == namedPlace ? nil : $0) }
    }

    func condition(of entry: RemoteEntry) -> RequestCondition? {
        condition(entry.etag, entry.lastModified, entry.freshness)
    }

    package func condition(of entry: Entry) -> RequestCondition? {
        // Earlier versions recorded no place.
        let url = entry.url.map { RequestCondition.digest(of: String($0.prefix { $0 != "?" })) }
        return condition(entry.etag, entry.lastModified, entry.freshness, named: url)
    }
}
