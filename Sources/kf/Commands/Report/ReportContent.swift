import KFCore
import Synchronization

/// What a report shows, gathered from the cache in memory that is bounded by what it shows.
struct ReportContent: Sendable {
    struct Picture: Sendable {
        let entry: CachedEntry
        /// A small WebP.
        let bytes: [UInt8]
    }

    /// Entries that were stored within a span.
    struct Age: Sendable {
        let label: String
        /// In milliseconds; those of the one before it do not count.
        let span: Int64
        var entries = 0
        var bytes: Int64 = 0
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
    private(set) var ages: [Age] = []
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
        ages = try await Self.ages(cache, now)
        largest = try await Self.first(Self.listLength, .size, of: cache)
        mostUsed = try await Self.first(Self.listLength, .hits, of: cache).filter { $0.hits > 0 }
        pictures = try await Self.draw(thumbnails, cache)
    }

    private static func ages(_ cache: ImageCache, _ now: Timestamp) async throws(KingfisherError) -> [Age] {
        let hour: Int64 = 3_600_000
        let counted = AgeCount([
            Age(label: "1 hour", span: hour), Age(label: "1 day", span: 24 * hour),
            Age(label: "1 week", span: 7 * 24 * hour), Age(label: "30 days", span: 30 * 24 * hour),
            Age(label: "1 year", span: 365 * 24 * hour), Age(label: "longer", span: .max),
        ])
        _ = try await cache.list(order: .age) { entry in
            counted.add(entry, age: now.since(entry.created))
            return true
        }
        return counted.value
    }

    private static func first(
        _ count: Int, _ order: EntryOrder, of cache: ImageCache
    ) async throws(KingfisherError) -> [CachedEntry] {
        let found = EntryBox()
        _ = try await cache.list(order: order, limit: count) { entry in
            found.add(entry)
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

/// Ages that are counted on another thread.
private final class AgeCount: Sendable {
    private let ages: Mutex<[ReportContent.Age]>

    init(_ ages: [ReportContent.Age]) { self.ages = Mutex(ages) }

    var value: [ReportContent.Age] { ages.withLock { $0 } }

    func add(_ entry: CachedEntry, age: Int64) {
        ages.withLock { ages in
            guard let index = ages.firstIndex(where: { age <= $0.span }) else { return }
            ages[index].entries += 1
            ages[index].bytes += entry.facts.bytes
        }
    }
}
