import KFPipeline
import KFTerms

extension KingfisherOptions {
    /// Returns the options for the description of the image that these options retrieve: a small entry of the cache, made
    /// of the same bytes.
    package func describing(_ level: DescriptionLevel, copiesUndecoded: Bool = false) -> KingfisherOptions {
        var options = self
        let copies = copiesUndecoded || cacheSerializer.copies(.svg)
        options.processor = processor.append(another: DescribingImageProcessor(level, copiesUndecoded: copies))
        options.cacheSerializer = DescriptionSerializer(copiesUndecoded: copies)
        options.lateSteps += 1
        return options
    }
}

extension KingfisherManager {
    /// Returns the description of the image that the options retrieve. It is kept in the cache: another call decodes
    /// nothing. Throws the errors of a retrieval, and `imageNotExisting` (3006) if the entry is damaged.
    public func describeImage(
        with source: Source, options: KingfisherOptions = KingfisherOptions()
    ) async throws(KingfisherError) -> ImageDescription {
        let file = try await retrieveImage(with: source, options: options.describing(.thumbhash)).loadData()
        guard let description = DescriptionSerializer.description(in: file).flatMap(ImageDescription.init) else {
            throw .cacheError(reason: .imageNotExisting(key: source.cacheKey))
        }
        return description
    }
}
