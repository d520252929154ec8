import KFImaging

/// Options that do not change any more, and what follows from them: made once for a call or a run, and shared by all of
/// its images.
final class OptionsBox: Sendable {
    let value: KingfisherOptions
    /// What the cache key carries beside the source's key.
    let identifier: String
    let download: DownloadTerms
    let result: ResultTerms

    init(_ options: KingfisherOptions) {
        value = options
        identifier = options.identifier
        download = DownloadTerms(
            options.request, options.inspector, acceptsEverySuccess: options.cachePolicy == .http)
        result = ResultTerms(options.processing, options.cacheSerializer, options.imageModifier)
    }

    var inspector: ImageInspector { download.inspector }

    func with(_ change: (inout KingfisherOptions) -> Void) -> OptionsBox {
        var options = value
        change(&options)
        return OptionsBox(options)
    }
}
