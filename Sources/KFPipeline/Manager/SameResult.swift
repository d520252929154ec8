import KFImaging
import KFStorage
import KFTerms

/// Processed images of local files are known by the content that they were made from: a file that was copied, touched
/// or checked out anew has another key, and its images are taken over.
extension Retrieval {
    /// Returns the cached image that the same processing made from the same bytes, under another key; nil for an image
    /// from the network, where a conditional request finds that out.
    func sameResult(of body: Body) -> CachedFile? {
        guard isLocal, keepsTarget, !options.forceRefresh, let original = bestEffort({ try body.digest() }) else {
            return nil
        }
        // If the cache cannot be read, the image is made.
        let identifier = target.identifier
        let found = bestEffort { try cache.result(of: identifier, madeFrom: original) } ?? nil
        return found.flatMap { isProven($0.entry) ? $0 : nil }
    }
}

extension ImageCache {
    fileprivate func result(
        of identifier: String, madeFrom original: Digest
    ) throws(KingfisherError) -> CachedFile? {
        try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            guard let entry = try storage.result(of: identifier, madeFrom: original),
                let file = try storage.open(entry)
            else { return CachedFile?.none }
            return CachedFile(file, entry: entry)
        } ?? nil
    }
}
