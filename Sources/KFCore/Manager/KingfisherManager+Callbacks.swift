extension KingfisherManager {
    /// As `retrieveImage(with:options:)`, for code that cannot wait: `completionHandler` is called exactly once, on the
    /// queue that the options name.
    @discardableResult
    public func retrieveImage(
        with source: Source, options: KingfisherOptionsInfo = [], progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        let options = self.options(options).reporting(to: progressBlock)
        return DownloadTask(callingBackOn: options.callbackQueue, completionHandler) {
            () async throws(KingfisherError) in
            try await self.retrieveImage(with: source, options: options)
        }
    }

    /// The same for a URL or a resource.
    @discardableResult
    public func retrieveImage(
        with resource: some SourceConvertible, options: KingfisherOptionsInfo = [],
        progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        retrieveImage(
            with: resource.convertToSource(), options: options, progressBlock: progressBlock,
            completionHandler: completionHandler)
    }
}
