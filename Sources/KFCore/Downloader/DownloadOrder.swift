import KFStorage

/// A URL to download, and on what terms.
struct DownloadOrder: Sendable {
    let url: RequestURL
    let terms: DownloadTerms
    var condition: RequestCondition?
    /// Sees the bytes as they come. A call with it has a transfer of its own.
    var tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    /// Where the image belongs; nil when nothing is to be stored.
    var place: DownloadPlace?
    var delegate: (any ImageDownloaderDelegate)?
    var responder: (any AuthenticationChallengeResponsible)?
}

/// Where an image belongs that is to be downloaded, and who knows whether it is there by now.
struct DownloadPlace: Sendable {
    let cache: ImageCache
    /// The key of the original image.
    let key: EntryKey
    /// Something of what comes may be stored.
    let stores: Bool
    /// Commits of other processes when the image was missing; nil when it is fetched whatever they have stored.
    let commitsSeen: Int64?
    let finder: any ImageFinder
}

/// Knows whether an image is cached by now.
protocol ImageFinder: AnyObject, Sendable {
    /// Blocks on the disk.
    var isCached: Bool { get }
}
