import Glibc
import KFCore
import Synchronization

/// The floor of a memory cache.
private final class LockedDictionary: Sendable {
    private let values = Mutex<[String: [UInt8]]>([:])

    subscript(key: String) -> [UInt8]? {
        get { values.withLock { $0[key] } }
        set { values.withLock { $0[key] = newValue } }
    }
}

/// Measures calls of the library beside their floors: a dictionary with a lock, and a plain open and read.
///
/// usage: LibraryBench IMAGE DIRECTORY [BATCHES]
@main
struct LibraryBench {
    /// The number of images in the cache, which the calls use in turn.
    private static let images = 1000

    private let manager: KingfisherManager
    private let sources: [Source]
    private let batches: Int
    private var cache: ImageCache { manager.cache }

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let file = open(path: arguments[1]) else {
            print("usage: LibraryBench IMAGE DIRECTORY [BATCHES]")
            exit(2)
        }
        let batches = arguments.count > 3 ? Int(arguments[3]) ?? 15 : 15
        let bench = try await LibraryBench(file, directory: arguments[2], batches: max(1, batches))
        try await bench.run()
    }

    private init(_ image: [UInt8], directory: String, batches: Int) async throws {
        var configuration = ImageCache.Configuration(directory: directory)
        configuration.memoryCostLimit = 1 << 30
        manager = KingfisherManager(cache: ImageCache(configuration))
        self.batches = batches
        var sources: [Source] = []
        let decoded = try ProcessorParser.parse("downsample:160x160").process(
            .data(image), options: ProcessingOptions())
        let encoded = try ImageEncoder.encode(decoded, as: .jpeg)
        for index in 0..<Self.images {
            let url = try RequestURL("https://images.example.com/photographs/\(index)/original.jpg")
            sources.append(.network(url))
            // The files differ, because equal ones are stored once.
            let stored = await manager.cache.store(
                decoded, original: encoded + "\(index)".utf8, forKey: url.cacheKey)
            if let error = stored.diskError { throw error }
        }
        self.sources = sources
        manager.cache.clearMemoryCache()
    }

    private func run() async throws {
        let table = try await memory()
        try await disk(table)
        await manager.shutdown()
    }

    private func call(_ count: Int, _ body: (Source) async throws -> Void) async throws -> Cost {
        try await measure(count, batches: batches) { try await body(sources[$0 % Self.images]) }
    }

    private func expect(_ way: RetrievalWay, _ result: RetrieveImageResult) {
        precondition(result.way == way, "\(result) is not from \(way)")
    }

    // MARK: Memory

    private func memory() async throws -> Table {
        let dictionary = LockedDictionary()
        for source in sources { dictionary[source.cacheKey] = [1] }
        let options = KingfisherOptions()
        var thumbnail = KingfisherOptions()
        thumbnail.processor = try ProcessorParser.parse("downsample:64x64")
        thumbnail.cacheMemoryOnly = true
        for source in sources {
            _ = try await manager.retrieveImage(with: source, options: options)
            _ = try await manager.retrieveImage(with: source, options: thumbnail)
        }
        for source in sources { _ = try await manager.retrieveImage(with: source, options: options).image() }
        var table = Table()
        table.addFloor(
            "a dictionary with a lock",
            try await call(10_000) { source in
                precondition(dictionary[source.cacheKey] != nil)
            })
        let hit = try await manager.retrieveImage(with: sources[0], options: options)
        let made = try await manager.retrieveImage(with: sources[0], options: thumbnail)
        table.add(
            "retrieveImage, in memory",
            try await call(10_000) { source in
                expect(.memory, try await manager.retrieveImage(with: source, options: options))
            })
        table.add(
            "retrieveImage, in memory, options: []",
            try await call(10_000) { source in
                expect(.memory, try await manager.retrieveImage(with: source, options: []))
            })
        table.add(
            "retrieveImage, processed, in memory",
            try await call(10_000) { source in
                expect(.memory, try await manager.retrieveImage(with: source, options: thumbnail))
            })
        table.add("data() of it", try await call(10_000) { _ in _ = try await hit.data() })
        table.add("image() of it", try await call(10_000) { _ in _ = try await hit.image() })
        table.add("data() of a processed one", try await call(10_000) { _ in _ = try await made.data() })
        table.add(
            "isCached, in memory",
            try await call(10_000) { source in
                let isCached = try await cache.isCached(forKey: source.cacheKey)
                precondition(isCached)
            })
        return table
    }

    // MARK: Disk

    private func disk(_ memory: Table) async throws {
        var table = memory
        var options = KingfisherOptions()
        options.memoryCacheExpiration = .expired
        options.onlyFromCache = true
        cache.clearMemoryCache()
        var paths: [String] = []
        for source in sources {
            let result = try await manager.retrieveImage(with: source, options: options)
            guard let path = result.cachedPath else { preconditionFailure("\(result) has no file") }
            paths.append(path)
        }
        table.addFloor(
            "open and read",
            try await measure(2_000, batches: batches) { index in
                precondition(Self.open(path: paths[index % Self.images]) != nil)
            })
        table.add(
            "retrieveImage, on the disk",
            try await call(2_000) { source in
                expect(.disk, try await manager.retrieveImage(with: source, options: options))
            })
        table.add(
            "retrieveImage, on the disk, and data()",
            try await call(2_000) { source in
                _ = try await manager.retrieveImage(with: source, options: options).data()
            })
        table.add(
            "isCached, on the disk",
            try await call(2_000) { source in
                let isCached = try await cache.isCached(forKey: source.cacheKey)
                precondition(isCached)
            })
        table.add(
            "retrieveImage, derived and not stored",
            try await call(200) { source in
                var options = options
                options.processor = try ProcessorParser.parse("downsample:64x64")
                options.cacheMemoryOnly = true
                expect(.derived, try await manager.retrieveImage(with: source, options: options))
            })
    }

    private static func open(path: String) -> [UInt8]? {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        let size = Int(status.st_size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, size))
        }
        return bytes.count == size ? bytes : nil
    }
}
