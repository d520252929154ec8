import KFImaging

/// How pixels and bytes are made of a result when somebody asks for them.
final class ResultTerms: Sendable {
    let processing: ProcessingOptions
    let serializer: any CacheSerializer
    let modifier: (any ImageModifier)?

    init(
        _ processing: ProcessingOptions, _ serializer: any CacheSerializer,
        _ modifier: (any ImageModifier)?
    ) {
        self.processing = processing
        self.serializer = serializer
        self.modifier = modifier
    }

    /// The image of bytes that a cache had or a source gave. `identifier` is named by the error.
    func image(of bytes: [UInt8], _ identifier: String) throws(KingfisherError) -> Image {
        do throws(ImagingError) {
            return try serializer.image(with: bytes, options: processing.decode)
        } catch {
            throw KingfisherError(processing: error, identifier: identifier)
        }
    }

    /// The image as it is given out.
    func modified(_ image: Image) -> Image { modifier?.modify(image) ?? image }
}
