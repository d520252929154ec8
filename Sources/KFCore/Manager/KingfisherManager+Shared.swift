extension KingfisherManager {
    /// A manager of ``ImageCache/default`` and ``ImageDownloader/default``, for the whole process.
    public static let shared = KingfisherManager(cache: .default, downloader: .default)
}

extension ImageCache {
    /// The cache in ``defaultDirectory()``, with the default configuration; in memory only where the environment names no
    /// directory. Nothing is opened before it is used.
    public static let `default` = ImageCache(Configuration(directory: defaultDirectory()))
}

extension ImageDownloader {
    /// A downloader with the default configuration. Nothing is started before it is used.
    public static let `default` = ImageDownloader()
}
