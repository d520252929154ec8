import KFImaging

/// Retrieves an image once more when the bytes that a cache had of it turn out not to be one.
protocol ImageRepair: AnyObject, Sendable {
    /// Removes the damaged image of this name and content from the caches, and retrieves it again.
    func repaired(
        _ source: Source, _ box: OptionsBox, key: String, identifier: String, sha256: String?
    ) async throws(KingfisherError) -> Image
}
