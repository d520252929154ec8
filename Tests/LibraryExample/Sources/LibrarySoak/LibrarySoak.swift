import Glibc
import KFCore
import Synchronization

/// A long run of one process: 200 concurrent calls with limits of memory and disk, removals and cancellations. No
/// removed image may be served, and memory must not grow. With `cancel`, COUNT calls are cancelled, each of which must end
/// within so many milliseconds.
///
/// usage: LibrarySoak DIRECTORY SECONDS
///        LibrarySoak cancel DIRECTORY COUNT MILLISECONDS
@main
struct LibrarySoak {
    private static let workers = 200
    /// The number of images that all workers request, and of those that belong to one worker.
    private static let shared = 400
    private static let own = 4
    private static let memoryLimit = 8 << 20
    private static let diskLimit: Int64 = 6 << 20
    /// The allowed growth of memory between the third tenth of the time and the end: a factor, and a number of bytes.
    private static let growth = 1.2
    private static let slack = 16 << 20

    private let origin = Origin(keys: shared + workers * own)
    private let manager: KingfisherManager
    private let end: ContinuousClock.Instant
    private let counts = Counts()
    private var cache: ImageCache { manager.cache }

    static func main() async {
        let arguments = CommandLine.arguments
        if arguments.count == 5, let count = Int(arguments[3]), let limit = Int(arguments[4]) {
            let trial = Cancellations(directory: arguments[2], count: count, limit: .milliseconds(limit))
            exit(await trial.run() ? 0 : 1)
        }
        guard arguments.count == 3, let seconds = Int(arguments[2]), seconds > 0 else {
            print("usage: LibrarySoak DIRECTORY SECONDS | cancel DIRECTORY COUNT MILLISECONDS")
            exit(2)
        }
        let soak = LibrarySoak(directory: arguments[1], seconds: seconds)
        exit(await soak.run(seconds) ? 0 : 1)
    }

    private init(directory: String, seconds: Int) {
        var configuration = ImageCache.Configuration(directory: directory)
        configuration.memoryCostLimit = Self.memoryLimit
        configuration.diskSizeLimit = Self.diskLimit
        var downloading = ImageDownloader.Configuration()
        downloading.maxConnectionsPerHost = 32
        manager = KingfisherManager(cache: ImageCache(configuration), downloader: ImageDownloader(downloading))
        end = .now + .seconds(seconds)
    }

    private func run(_ seconds: Int) async -> Bool {
        let watch = Watch(cache)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<Self.workers {
                group.addTask {
                    while .now < end { await step(worker) }
                }
            }
            group.addTask {
                while .now < end {
                    await watch.look()
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
        }
        await manager.shutdown()
        return report(watch, seconds)
    }

    private func report(_ watch: Watch, _ seconds: Int) -> Bool {
        print("calls: \(counts.line), \(origin.requests) requests, \(counts.total / seconds) calls a second")
        print("memory: \(watch.line) MiB in each tenth of \(seconds) s")
        print("at most \(watch.mostDescriptors) descriptors, \(watch.mostDisk >> 10) KiB on the disk")
        if let early = watch.memory(ofTenth: 2), let late = watch.memory(ofTenth: 9),
            Double(late) > Double(early) * Self.growth + Double(Self.slack)
        {
            counts.fault("memory has grown from \(early >> 20) to \(late >> 20) MiB")
        }
        // Stores in flight come on top of the limit.
        if watch.mostDisk > Self.diskLimit * 3 / 2 { counts.fault("\(watch.mostDisk) bytes on the disk") }
        for (text, count) in counts.faults { print("fault: \(text) (\(count) times)") }
        return counts.faults.isEmpty
    }

    // MARK: Calls

    private func step(_ worker: Int) async {
        switch Int.random(in: 0..<100) {
        case ..<55: await retrieve(Int.random(in: 0..<Self.shared))
        case ..<75: await removeAndRetrieve(key(of: worker))
        case ..<90: await cancel(Int.random(in: 0..<Self.shared))
        case ..<97: await removeShared(Int.random(in: 0..<Self.shared))
        case ..<99: await variants(Int.random(in: 0..<Self.shared))
        default: await look(Int.random(in: 0..<Self.shared))
        }
    }

    private func key(of worker: Int) -> Int { Self.shared + worker * Self.own + Int.random(in: 0..<Self.own) }

    private func source(_ key: Int) -> Source {
        do { return .network(try RequestURL(origin.url(key))) } catch { preconditionFailure("\(error)") }
    }

    private func options() -> KingfisherOptions {
        var options = KingfisherOptions()
        options.waitForCache = Bool.random()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(0.01))
        if Bool.random() {
            options.processor = ResizingProcessors.any
            options.cacheOriginalImage = Bool.random()
        }
        if Int.random(in: 0..<4) == 0 { options.memoryCacheExpiration = .expired }
        return options
    }

    /// Returns the version of an image; nil, and a fault, if it belongs to another key.
    private func version(_ result: RetrieveImageResult, _ key: Int) async throws -> Int? {
        let bitmap = try await result.image().bitmap
        let color = bitmap.withUnsafeRows { rows in (0..<3).map { rows.row(0)[$0] } }
        guard color[0] == UInt8(key & 255), color[1] == UInt8(key >> 8 & 255) else {
            counts.fault("an image of another key")
            return nil
        }
        return Int(color[2])
    }

    private func retrieve(_ key: Int) async {
        await call("retrieve") {
            let result = try await manager.retrieveImage(with: source(key), options: options())
            _ = try await version(result, key)
        }
    }

    /// Removes and retrieves a key that belongs to this worker: after the removal only the new image may be served.
    private func removeAndRetrieve(_ key: Int) async {
        await call("remove") {
            let now = origin.version(key)
            let before = try await manager.retrieveImage(with: source(key), options: options())
            if try await version(before, key) != now & 255 {
                counts.fault("not the image of the origin: \(before.way)")
            }
            let next = origin.replace(key)
            _ = try await cache.removeImage(forKey: source(key).cacheKey)
            if Bool.random() {
                var cached = options()
                cached.onlyFromCache = true
                if let result = try? await manager.retrieveImage(with: source(key), options: cached) {
                    counts.fault("a removed image is in the cache: \(result.way)")
                }
            }
            let after = try await manager.retrieveImage(with: source(key), options: options())
            if try await version(after, key) != next & 255 { counts.fault("a removed image was served: \(after.way)") }
        }
    }

    private func removeShared(_ key: Int) async {
        await call("remove shared") {
            _ = origin.replace(key)
            _ = try await cache.removeImage(forKey: source(key).cacheKey)
        }
    }

    private func cancel(_ key: Int) async {
        await call("cancel") {
            let task = Task { try await manager.retrieveImage(with: source(key), options: options()) }
            for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
            task.cancel()
            do { _ = try await task.value } catch let error as KingfisherError where error.isCancellation {}
        }
    }

    private func variants(_ key: Int) async {
        await call("variants") {
            for result in await manager.retrieveVariants(of: source(key), options: [options(), options()]) {
                _ = try await version(try result.get(), key)
            }
        }
    }

    private func look(_ key: Int) async {
        await call("look") {
            _ = try await cache.isCached(forKey: source(key).cacheKey)
            if Int.random(in: 0..<20) == 0 { cache.clearMemoryCache() }
            if Int.random(in: 0..<20) == 0 { _ = try await cache.removeExpired() }
        }
    }

    /// Counts a call. A failure is a fault, except for a refusal that the origin sends on purpose.
    private func call(_ name: String, _ body: () async throws -> Void) async {
        counts.add(name)
        do {
            try await body()
        } catch let error as KingfisherError where error.httpStatus == 503 {
            counts.add("refused")
        } catch {
            counts.fault("\(name): \(error)")
        }
    }
}

/// Processors that do not change a picture of one colour.
enum ResizingProcessors {
    private static let all = ["resize:20x20", "downsample:16x16", "crop:24x24", "blur:3"].map { spec in
        do { return try ProcessorParser.parse(spec) } catch { preconditionFailure("\(spec): \(error)") }
    }

    static var any: any ImageProcessor { all[Int.random(in: 0..<all.count)] }
}

/// The numbers of calls and faults.
private final class Counts: Sendable {
    private struct State {
        var calls: [String: Int] = [:]
        var faults: [String: Int] = [:]
    }

    private let state = Mutex(State())

    func add(_ name: String) { state.withLock { $0.calls[name, default: 0] += 1 } }

    func fault(_ text: String) { state.withLock { $0.faults[text, default: 0] += 1 } }

    var total: Int { state.withLock { $0.calls.values.reduce(0, +) } }

    var line: String {
        state.withLock { $0.calls }.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    var faults: [(String, Int)] { state.withLock { $0.faults.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } } }
}
