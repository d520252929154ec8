import KFCore
import Synchronization

/// Says to a fetch that nothing new is to be started; what is on its way goes on.
final class FetchStop: Sendable {
    private let manager: KingfisherManager
    private let stopped = Atomic(false)

    init(_ manager: KingfisherManager) { self.manager = manager }

    var isStopped: Bool { stopped.load(ordering: .relaxed) }

    func stop() {
        stopped.store(true, ordering: .relaxed)
        manager.downloader.drain()
        manager.cache.endWaiting(within: RunSettings.patienceAfterSignal)
    }
}
