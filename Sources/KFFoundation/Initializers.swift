import Foundation
import KFCore

extension KingfisherManager {
    /// Creates a manager. Several managers may share a cache or a downloader.
    public convenience init(downloader: ImageDownloader, cache: ImageCache) {
        self.init(cache: cache, downloader: downloader)
    }
}

extension ImageCache {
    /// Creates a cache of its own beside the default one: its directory is that of ``defaultDirectory()`` followed by `-` and
    /// the name. Without such a directory in the environment, it is memory only.
    public convenience init(name: String) {
        self.init(Configuration(directory: Self.defaultDirectory().map { "\($0)-\(Self.fileName(name))" }))
    }

    /// Creates a cache of its own in the directory of that name in another one; nil is the default directory's.
    public convenience init(name: String, cacheDirectoryURL: URL?) {
        if let cacheDirectoryURL {
            self.init(Configuration(directory: cacheDirectoryURL.appendingPathComponent(Self.fileName(name)).path))
        } else {
            self.init(name: name)
        }
    }

    /// Returns the name as one component of a path.
    private static func fileName(_ name: String) -> String {
        name.replacingOccurrences(of: "%", with: "%25").replacingOccurrences(of: "/", with: "%2F")
    }
}
