extension KingfisherManager {
    /// As `retrieveImage(with:options:)`, for code that cannot wait: `completionHandler` is called exactly once, on the
    /// queue that the options name.
    @discardableResult
    public func retrieveImage(
        with source: Source, options: KingfisherOptionsInfo = [], progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        var parsed = KingfisherOptions(defaultOptions + options)
        let queue = parsed.callbackQueue
        if let progressBlock {
            parsed.progress = { received, total in queue.execute { progressBlock(received, total) } }
        }
        return DownloadTask(
            Task { [parsed] in
                let outcome: Result<RetrieveImageResult, KingfisherError>
                do throws(KingfisherError) {
                    outcome = .success(try await retrieveImage(with: source, options: parsed))
                } catch {
                    outcome = .failure(error)
                }
                queue.execute { completionHandler(outcome) }
            })
    }
}
