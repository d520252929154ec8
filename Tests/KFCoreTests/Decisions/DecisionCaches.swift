import Foundation
import Glibc
import KFCore
import Support

/// The directories of caches with certain contents. Each is built once, by retrievals, and copied for the states that
/// write to it.
actor DecisionCaches {
    /// A directory with its structure, for quick copies.
    final class Directory: Sendable {
        let directory: TemporaryDirectory
        private let folders: [String]
        /// Image files, which are never written to. A copy has links to them.
        private let objects: [String]
        private let files: [(name: String, bytes: [UInt8])]

        /// The directory of the cache, which must not be written to.
        var path: String { directory.path("cache").path }
        var remotePath: String { directory.path("remote").path }

        fileprivate init(_ directory: TemporaryDirectory) throws {
            self.directory = directory
            var (folders, objects, files) = ([String](), [String](), [(name: String, bytes: [UInt8])]())
            let root = directory.path("cache")
            for case let name as String in FileManager.default.enumerator(atPath: root.path) ?? .init() {
                var status = stat()
                guard lstat(root.appendingPathComponent(name).path, &status) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    folders.append(name)
                } else if name.contains("objects/") {
                    objects.append(name)
                } else if !name.hasSuffix("-shm") {
                    files.append((name, [UInt8](try Data(contentsOf: root.appendingPathComponent(name)))))
                }
            }
            (self.folders, self.objects, self.files) = (folders, objects, files)
        }

        /// Copies the cache to a new directory.
        func copy(to path: String) throws {
            guard mkdir(path, 0o700) == 0 else { throw POSIXError(.EIO) }
            for folder in folders where mkdir("\(path)/\(folder)", 0o700) != 0 { throw POSIXError(.EIO) }
            for object in objects where link("\(self.path)/\(object)", "\(path)/\(object)") != 0 {
                throw POSIXError(.EIO)
            }
            for (name, bytes) in files {
                let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                guard file >= 0 else { throw POSIXError(.EIO) }
                defer { close(file) }
                guard write(file, bytes, bytes.count) == bytes.count else { throw POSIXError(.EIO) }
            }
        }
    }

    private let origin: DecisionOrigin
    private let downloader: ImageDownloader
    private var made: [CacheContent: Task<Directory, any Error>] = [:]

    init(_ origin: DecisionOrigin, _ downloader: ImageDownloader) {
        self.origin = origin
        self.downloader = downloader
    }

    /// Returns the directory with a content.
    func directory(_ content: CacheContent) async throws -> Directory {
        if let task = made[content] { return try await task.value }
        let task = Task { try await CacheBuilder(content, origin, downloader).build() }
        made[content] = task
        return try await task.value
    }
}

/// Builds the directory of one content.
private struct CacheBuilder: Sendable {
    struct Unexpected: Error { let content: CacheContent, step: String, error: KingfisherError? }

    let content: CacheContent
    let origin: DecisionOrigin
    let manager: KingfisherManager
    let directory: TemporaryDirectory
    private let time = SharedValue(DecisionClock.start)

    init(_ content: CacheContent, _ origin: DecisionOrigin, _ downloader: ImageDownloader) throws {
        self.content = content
        self.origin = origin
        directory = try TemporaryDirectory()
        var configuration = ImageCache.Configuration(directory: directory.path("cache").path)
        configuration.clock = CacheClock { [time] in time.value }
        configuration.lockTimeout = .seconds(60)
        if content.isRemote {
            configuration.remotes = [
                try RemoteCacheLayer.layer(
                    "file://\(directory.path("remote").path)", environment: [:], creates: true)
            ]
            configuration.writesToRemote = true
            mkdir(directory.path("remote").path, 0o700)
        }
        manager = KingfisherManager(cache: ImageCache(configuration), downloader: downloader)
    }

    func build() async throws -> DecisionCaches.Directory {
        if let answer = content.answer, answer.isOlder { try await remember(answer) }
        if let original = content.original { try await store(original, .untouched) }
        if let target = content.target { try await store(target, content.making) }
        if content.hasEnglish, let picture = content.target ?? content.original {
            try await store(picture, content.target == nil ? .untouched : content.making, isEnglish: true)
        }
        if let answer = content.answer, !answer.isOlder { try await remember(answer) }
        await manager.cache.close()
        try await damage(content.original, "")
        if let target = content.target {
            try await damage(target, DecisionWorld.options(content.making).identifier)
        }
        return try DecisionCaches.Directory(directory)
    }

    private func options(_ making: DecisionState.Making, isFresh: Bool, agent: String) -> KingfisherOptions {
        var options = DecisionWorld.options(making)
        options.request.userAgent = agent
        options.waitForCache = true
        options.memoryCacheExpiration = .expired
        options.diskCacheExpiration = .seconds(Double(DecisionClock.span(isFresh: isFresh)))
        options.cachePolicy = content.policy
        options.forceRefresh = true
        return options
    }

    private func store(
        _ picture: CacheContent.Picture, _ making: DecisionState.Making, isEnglish: Bool = false
    ) async throws {
        time.value = time.value.advanced(by: 1000)
        let agent = origin.agent { [origin, content] _ in
            origin.reply(picture, varies: content.varies, isEnglish: isEnglish)
        }
        var options = options(making, isFresh: picture.isFresh, agent: agent)
        if content.varies { options.request.headers = [("Accept-Language", isEnglish ? "en" : "de")] }
        // An image makes the cache of its original forget an older answer.
        if content.answer?.isOlder == true {
            options.originalCache = ImageCache(ImageCache.Configuration(directory: nil))
        }
        let result = try await manager.retrieveImage(with: .network(origin.url), options: options)
        guard case .stored = result.storing.disk else {
            throw Unexpected(content: content, step: "store", error: result.storing.diskError)
        }
        _ = origin.takeRequests(of: agent)
    }

    private func remember(_ answer: CacheContent.Answer) async throws {
        time.value = time.value.advanced(by: 1000)
        let span = DecisionClock.span(isFresh: answer.isFresh)
        let agent = origin.agent { _ in
            let headers = answer.isTimed ? [] : ["Cache-Control: max-age=\(span)"]
            return [.reply(answer.status == 404 ? "404 Not Found" : "410 Gone", headers: headers)]
        }
        var options = options(.untouched, isFresh: true, agent: agent)
        options.cachePolicy = answer.isTimed ? .timeToLive : .http
        options.negativeTimeToLive = answer.isTimed ? .seconds(span) : nil
        var failure: KingfisherError?
        do throws(KingfisherError) {
            _ = try await manager.retrieveImage(with: .network(origin.url), options: options)
        } catch {
            failure = error
        }
        guard failure?.httpStatus == answer.status else {
            throw Unexpected(content: content, step: "remember", error: failure)
        }
        _ = origin.takeRequests(of: agent)
    }

    /// Damages the file of an entry in the index.
    private func damage(_ picture: CacheContent.Picture?, _ identifier: String) async throws {
        guard let picture, picture.damage != .none else { return }
        var configuration = ImageCache.Configuration(directory: directory.path("cache").path)
        configuration.access = .readOnly
        let cache = ImageCache(configuration)
        let entries = try await cache.entries(forKey: origin.url.cacheKey)
        guard let entry = entries.first(where: { $0.name.identifier == identifier }) else {
            throw Unexpected(content: content, step: "damage", error: nil)
        }
        switch picture.damage {
        case .none: break
        case .missing: unlink(entry.path)
        case .truncated:
            chmod(entry.path, 0o600)
            truncate(entry.path, off_t(entry.facts.bytes / 2))
        }
        await cache.close()
    }
}
