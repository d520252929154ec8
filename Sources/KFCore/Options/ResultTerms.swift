import KFImaging

/// How pixels and bytes are made of a result when somebody asks for them.
final class ResultTerms: Sendable {
    let processing: ProcessingOptions
    let serializer: any CacheSerializer
    let modifier: (@Sendable (Image) -> Image)?

    init(
        _ processing: ProcessingOptions, _ serializer: any CacheSerializer,
        _ modifier: (@Sendable (Image) -> Image)?
    ) {
        self.processing = processing
        self.serializer = serializer
        self.modifier = modifier
    }
}
