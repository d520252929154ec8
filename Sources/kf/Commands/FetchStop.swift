import KFCore
import Synchronization

/// Says to a fetch that nothing new is to be started; what is on its way goes on.
final class FetchStop: Sendable {
    private let downloader: ImageDownloader
    private let stopped = Atomic(false)

    init(_ downloader: ImageDownloader) { self.downloader = downloader }

    var isStopped: Bool { stopped.load(ordering: .relaxed) }

    func stop() {
        stopped.store(true, ordering: .relaxed)
        downloader.drain()
    }
}
