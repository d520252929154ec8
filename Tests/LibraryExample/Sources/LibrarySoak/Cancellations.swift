import Glibc
import KFCore

/// Many calls that are cancelled in every stage of their retrieval, while others use the machine and the same manager.
/// Measures the time from each cancellation to the end of its call.
struct Cancellations {
    /// The number of calls at once.
    private static let callers = 500
    /// One call in four has one of these images, which several calls ask for at the same time.
    private static let shared = 50
    private static let own = 50_000
    /// One cancellation in so many is that of a task that only sleeps. Where these are late, the machine does not run the
    /// process (at idle priority beside builds they took 6.6 s), or something blocks Swift's threads.
    private static let control = 10
    /// The longest time from the start of a call to its cancellation: from before the look-up to behind the store.
    private static let longest = 40

    private let origin: Origin
    private let manager: KingfisherManager
    private let times: CancellationTimes
    private let controls: CancellationTimes

    init(directory: String, count: Int, limit: Duration) {
        var configuration = ImageCache.Configuration(directory: directory)
        configuration.memoryCostLimit = 8 << 20
        configuration.diskSizeLimit = 16 << 20
        var downloading = ImageDownloader.Configuration()
        downloading.maxConnectionsPerHost = 128
        manager = KingfisherManager(cache: ImageCache(configuration), downloader: ImageDownloader(downloading))
        origin = Origin(keys: Self.shared + Self.own)
        times = CancellationTimes(count: count, limit: limit)
        controls = CancellationTimes(count: count / Self.control, limit: limit)
    }

    /// Returns whether every call ended in time.
    func run() async -> Bool {
        times.watch()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.callers {
                group.addTask {
                    while let number = times.next() {
                        await cancel(number, times) { await isCancelled(number) }
                        if number % Self.control == 0, let number = controls.next() {
                            await cancel(number, controls) {
                                try? await Task.sleep(for: .seconds(3600))
                                return true
                            }
                        }
                    }
                }
            }
        }
        await manager.shutdown()
        print("\(origin.requests) requests; from each cancellation to the end of its call:")
        let isIdle = controls.report("sleeping tasks")
        return times.report("retrievals") && isIdle
    }

    private func cancel(
        _ number: Int, _ times: CancellationTimes, _ isCancelled: @escaping @Sendable () async -> Bool
    ) async {
        let call = Task { (await isCancelled(), ContinuousClock.now) }
        let pause = Int.random(in: 0..<Self.longest)
        // Some are cancelled before they begin.
        if pause > 2 { try? await Task.sleep(for: .milliseconds(pause)) }
        let begun = times.begin(number)
        call.cancel()
        let told = ContinuousClock.now
        let (wasCancelled, end) = await call.value
        times.end(number, wasCancelled: wasCancelled, cancel: told - begun, call: end - begun)
    }

    private func isCancelled(_ number: Int) async -> Bool {
        let key = number % 4 == 0 ? number / 4 % Self.shared : Self.shared + number % Self.own
        var options = KingfisherOptions()
        options.waitForCache = number % 3 == 0
        options.forceRefresh = Bool.random()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(0.1))
        if number % 5 < 2 { options.processor = ResizingProcessors.any }
        do {
            _ = try await manager.retrieveImage(with: .network(RequestURL(origin.url(key))), options: options)
        } catch {
            if error.isCancellation { return true }
            times.fault("\(error)")
        }
        return false
    }
}
