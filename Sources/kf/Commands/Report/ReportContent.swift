import KFCore
import Synchronization

/// What a report shows, gathered from the cache in memory that is bounded by what it shows.
struct ReportContent: Sendable {
    struct Picture: Sendable {
        let entry: CachedEntry
        /// A small WebP.
        let bytes: [UInt8]
    }

    static let listLength = 20
    private static let pictureSide = 200.0
    /// An entry that cannot be drawn is passed over; so many of them end the search.
    private static let mostTries = 2000

    let directory: String
    let now = Timestamp.now()
    private(set) var totals = CacheTotals()
    private(set) var limit: Int64 = 0
    private(set) var hosts: [CacheShare] = []
    private(set) var formats: [CacheShare] = []
    private(set) var ages: [CacheShare] = []
    private(set) var largest: [CachedEntry] = []
    private(set) var mostUsed: [CachedEntry] = []
    private(set) var pictures: [Picture] = []

    init(_ cache: ImageCache, directory: String, thumbnails: Int) async throws(KingfisherError) {
        self.directory = directory
        guard let summary = try await cache.summary() else { return }
        totals = summary.totals
        limit = summary.limit
        hosts = summary.hosts
        formats = summary.formats
        ages = summary.ages
        largest = try await Self.first(Self.listLength, .size, of: cache)
        mostUsed = try await Self.first(Self.listLength, .hits, of: cache).filter { $0.hits > 0 }
        pictures = try await Self.draw(thumbnails, cache)
    }

    private static func first(
        _ count: Int, _ order: EntryOrder, of cache: ImageCache
    ) async throws(KingfisherError) -> [CachedEntry] {
        let found = EntryBox()
        _ = try await cache.list(order: order, limit: count) { entry in
            if entry.answerStatus == nil { found.add(entry) }
            return true
        }
        return found.value
    }

    /// The images that were used last, each once, drawn small by kf's own processors. The cache is not touched.
    private static func draw(_ count: Int, _ cache: ImageCache) async throws(KingfisherError) -> [Picture] {
        guard count > 0, let size = SizeSpec(width: pictureSide, height: pictureSide) else { return [] }
        var options = KingfisherOptions()
        options.processor = DownsamplingImageProcessor(size: size)
        options.cacheSerializer = FormatIndicatedCacheSerializer(format: .webp, options: EncodeOptions(quality: 75))
        options.onlyLoadFirstFrame = true
        options.cacheMemoryOnly = true
        let manager = KingfisherManager(cache: ImageCache(.init(directory: nil)))
        var seen: Set<String> = []
        var pictures: [Picture] = []
        for entry in try await first(min(count * 8, mostTries), .used, of: cache) {
            guard pictures.count < count else { break }
            guard entry.facts.isDecodable, seen.insert(entry.path).inserted else { continue }
            do throws(KingfisherError) {
                let source = Source.provider(try LocalFileImageDataProvider(path: entry.path))
                let result = try await manager.retrieveImage(with: source, options: options)
                pictures.append(Picture(entry: entry, bytes: try await result.data()))
            } catch {
                // A file that has gone meanwhile, or is damaged, has no picture.
                continue
            }
        }
        await manager.shutdown()
        return pictures
    }
}

/// Entries that a listing hands out on another thread.
private final class EntryBox: Sendable {
    private let entries = Mutex<[CachedEntry]>([])

    var value: [CachedEntry] { entries.withLock { $0 } }

    func add(_ entry: CachedEntry) { entries.withLock { $0.append(entry) } }
}
