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
