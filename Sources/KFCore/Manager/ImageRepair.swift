import KFImaging

/// The repair of a cached image whose bytes cannot be decoded.
protocol ImageRepair: AnyObject, Sendable {
    /// Removes the damaged image with this name and content from the caches, and retrieves it again.
    func repaired(
        _ source: Source, _ box: OptionsBox, key: String, identifier: String, sha256: String?
    ) async throws(KingfisherError) -> Image
}
