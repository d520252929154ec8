import KFPipeline
import KFTerms

extension KingfisherOptions {
    /// The options for the description of the image that these options retrieve: a small entry of the cache, made in the
    /// same pass over the bytes.
    package var describing: KingfisherOptions {
        var options = self
        options.processor = processor.append(another: ImageDescription.reduction)
        options.cacheSerializer = DescriptionSerializer()
        options.lateSteps += ImageDescription.reduction.steps.count
        return options
    }
}

extension KingfisherManager {
    /// Returns the description of the image that the options retrieve. It is kept in the cache: another call decodes
    /// nothing. Throws the errors of a retrieval, and `imageNotExisting` (3006) if the entry is damaged.
    public func describeImage(
        with source: Source, options: KingfisherOptions = KingfisherOptions()
    ) async throws(KingfisherError) -> ImageDescription {
        let file = try await retrieveImage(with: source, options: options.describing).loadData()
        guard let description = DescriptionSerializer.description(in: file) else {
            throw .cacheError(reason: .imageNotExisting(key: source.cacheKey))
        }
        return description
    }
}
