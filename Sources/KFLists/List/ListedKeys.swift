import KFStorage
import KFTerms

extension PrefetchLists {
    /// Reads the lists to their end and returns the cache keys of their images, without the digests of requesters.
    ///
    /// Throws an error for a list that cannot be read and for a record without an image: a caller that removes what
    /// the lists do not name must know all names. With `skip`, such a record is given to it instead.
    public func keys(
        for request: RequestOptions, skip: ((PrefetchItem, KingfisherError) -> Void)? = nil
    ) async throws(KingfisherError) -> Set<String> {
        var keys: Set<String> = []
        while true {
            switch await next() {
            case .end: return keys
            case .broken(let error): throw error
            case .items(let items):
                for item in items {
                    if case .failure(let error) = item.source {
                        if let skip {
                            skip(item, error)
                            continue
                        }
                        let place = "\(item.list == "-" ? "standard input" : item.list): line \(item.line)"
                        let text = RequestURL.redacted(String(item.text.prefix(200)))
                        throw .sourceError(reason: .invalidListRecord(detail: "\(place): \(text): \(error.message)"))
                    }
                    guard let key = item.cacheKey(for: request) else { continue }
                    keys.insert(KeyChoice.base(of: key))
                }
            }
        }
    }
}
