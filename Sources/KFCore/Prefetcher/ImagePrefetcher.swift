import KFImaging
import KFStorage
import Synchronization

/// Warms the cache from a list of any length. Kingfisher's `ImagePrefetcher`.
///
/// What is in the cache is passed over without looking at its bytes; the rest is retrieved, many at once. Memory does
/// not grow with the list.
public final class ImagePrefetcher: Sendable {
    /// Work beside the transfers themselves: bodies that are checked, processed and stored while others come.
    private static let margin = 64

    private enum Event: Sendable {
        case read(Result<PrefetchBlock, KingfisherError>)
        case ended(PrefetchOutcome)
    }

    private let manager: KingfisherManager
    private let options: KingfisherOptions
    private let maxInFlight: Int
    private let isEnding = Atomic(false)

    /// `maxConcurrentDownloads`: how many sources are asked at once.
    public init(manager: KingfisherManager, options: KingfisherOptions, maxConcurrentDownloads: Int) {
        self.manager = manager
        var options = options
        options.batchesStores = true
        self.options = options
        maxInFlight = max(1, maxConcurrentDownloads) + Self.margin
    }

    /// Starts nothing new, here and in the manager's downloader; what is on its way goes on to its end, and the call of
    /// `prefetch` returns then.
    public func finishEarly(_ list: PrefetchList) {
        isEnding.store(true, ordering: .relaxed)
        list.close()
        manager.downloader.drain()
    }

    /// Works off the list. `each` is told of every item as it ends, one at a time. It ends early when the cache fails
    /// (what cannot be stored need not be fetched) or the list cannot be read; what was in flight has ended by then.
    public func prefetch(
        _ list: PrefetchList, each: (PrefetchOutcome, PrefetchProgress) -> Void
    ) async -> PrefetchReport {
        do {
            if let problem = try await manager.cache.diskProblem() { return PrefetchReport(failure: problem) }
        } catch {
            return PrefetchReport(failure: error)
        }
        var run = PrefetchRun()
        await withTaskGroup(of: Event.self) { group in
            group.addTask { .read(await self.block(of: list)) }
            while let event = await group.next() {
                if isEnding.load(ordering: .relaxed) { run.finishEarly() }
                switch event {
                case .read(let result):
                    for outcome in run.take(result) { each(outcome, run.count(outcome)) }
                case .ended(let outcome):
                    if let progress = run.land(outcome) { each(outcome, progress) }
                }
                while let item = run.takeOff(limit: maxInFlight) {
                    group.addTask { .ended(await self.retrieve(item)) }
                }
                if run.startsReading() { group.addTask { .read(await self.block(of: list)) } }
            }
        }
        return PrefetchReport(progress: run.progress, failure: run.failure)
    }

    /// The next lines of the list, parted into what is there and what is missing.
    private func block(of list: PrefetchList) async -> Result<PrefetchBlock, KingfisherError> {
        do {
            let items = try await list.next()
            var block = PrefetchBlock(isLast: items.isEmpty)
            var asked: [(item: PrefetchItem, key: EntryKey)] = []
            for item in items {
                switch item.source {
                case .failure(let error): block.ended.append(PrefetchOutcome(item: item, ending: .failed(error)))
                case .success(let source): asked.append((item, Retrieval(source, options).target))
                }
            }
            guard !options.forceRefresh else {
                block.missing = asked.map(\.item)
                return .success(block)
            }
            let found = try await manager.cache.touchFresh(asked.map(\.key))
            for ((item, _), file) in zip(asked, found) {
                if let file {
                    block.ended.append(PrefetchOutcome(item: item, ending: .skipped(file)))
                } else {
                    block.missing.append(item)
                }
            }
            return .success(block)
        } catch {
            return .failure(error)
        }
    }

    private func retrieve(_ item: PrefetchItem) async -> PrefetchOutcome {
        do {
            let result = try await manager.retrieveImage(with: item.source.get(), options: options)
            // What could be fetched and not stored is no use to who wants a warm cache.
            if let error = result.storing.diskError { return PrefetchOutcome(item: item, ending: .failed(error)) }
            return PrefetchOutcome(item: item, ending: .completed(result))
        } catch {
            return PrefetchOutcome(item: item, ending: .failed(error))
        }
    }
}
