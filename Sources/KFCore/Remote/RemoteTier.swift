import KFStorage
import Synchronization

/// The remotes of a cache: read in their order after a miss, and the first one written to if the configuration says so.
final class RemoteTier: Sendable {
    let remotes: [Remote]
    /// Whether a remote that refuses or cannot be reached is an error.
    let isRequired: Bool
    let uploads: RemoteUploads?
    let log: RemoteLog
    let room = RemoteRoom()

    /// Creates the tier of a cache. Nothing is asked before an image needs it.
    init(_ configuration: ImageCache.Configuration) {
        let log = RemoteLog(configuration)
        self.log = log
        isRequired = configuration.requiresRemotes
        let silence = configuration.remoteSilence
        remotes = configuration.remotes.map { layer in
            Remote(layer, silence: silence) { log.note($0, of: layer.name) }
        }
        uploads =
            configuration.writesToRemote
            ? remotes.first.map {
                RemoteUploads($0, log, waiting: configuration.remoteWait, until: configuration.lockDeadline)
            } : nil
    }

    var problem: KingfisherError? { log.problem }

    /// The error of a required remote that is not asked now; nil when there is none.
    var presentProblem: KingfisherError? {
        guard isRequired, let problem = log.problem else { return nil }
        return remotes.contains { $0.isDown } || uploads.map { $0.remote.uploadGate != .open } ?? false ? problem : nil
    }

    var counts: RemoteCounts { log.counts }

    func takeUnwritten() -> RemoteCounts { log.takeUnwritten() }

    /// Whether a look-up would be worth while now.
    var isUp: Bool { presentProblem != nil || remotes.contains { !$0.isDown } }

    var uploadProgress: (done: Int, total: Int)? { uploads?.progress }

    func endWaiting(within span: Duration) { uploads?.endWaiting(within: span) }

    /// Uploads that are not done at the end of the time are dropped.
    func finish() {
        uploads?.drain()
        for remote in remotes { remote.shutdown() }
    }
}

extension ImageCache {
    /// The stores that are asked after a miss here, made when they are first needed; nil without any.
    var remotes: RemoteTier? {
        if configuration.remotes.isEmpty { return nil }
        return remoteStores.withLock { stores in
            if let tier = stores { return tier }
            let tier = RemoteTier(configuration)
            stores = tier
            return tier
        }
    }
}

/// The bound on objects that are being read from remotes or have been read and are not stored yet. The look-ups beyond it
/// wait.
final class RemoteRoom: Sendable {
    private static let mostBytes: Int64 = 16 << 20
    private static let most = 512

    private struct State {
        var bytes: Int64 = 0
        var count = 0
        /// The work of slots before `head` is nil, so that none is released under the lock: its end releases room.
        var waiting: [(work: (any StoreWork)?, size: Int64)] = []
        var head = 0

        /// The part of an object that may be in memory.
        static func share(_ size: Int64) -> Int64 { min(size, Int64(BodySink.memoryLimit)) }

        mutating func take(_ size: Int64) -> Bool {
            guard count == 0 || count < RemoteRoom.most && bytes + Self.share(size) <= RemoteRoom.mostBytes else {
                return false
            }
            count += 1
            bytes += Self.share(size)
            return true
        }
    }

    private let state = Mutex(State())

    /// Takes room for an object. Returns false if there is none; the work is then added to the workers when there is, and
    /// has the room.
    func take(_ size: Int64, for work: any StoreWork) -> Bool {
        state.withLock { state in
            if state.head == state.waiting.count, state.take(size) { return true }
            state.waiting.append((work, size))
            return false
        }
    }

    func release(_ size: Int64) {
        let ready = state.withLock { state -> [any StoreWork] in
            state.count -= 1
            state.bytes -= State.share(size)
            var ready: [any StoreWork] = []
            while state.head < state.waiting.count, state.take(state.waiting[state.head].size) {
                if let work = state.waiting[state.head].work { ready.append(work) }
                state.waiting[state.head].work = nil
                state.head += 1
            }
            if state.head > 256 || state.head == state.waiting.count {
                state.waiting.removeFirst(state.head)
                state.head = 0
            }
            return ready
        }
        StoreWorkers.shared.add(ready)
    }
}
