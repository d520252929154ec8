import KFStorage
import Synchronization

/// The remotes of a cache: read in their order after a miss, and the first one written to if the configuration says so.
final class RemoteTier: Sendable {
    let remotes: [Remote]
    /// Whether a remote that refuses or cannot be reached is an error.
    let isRequired: Bool
    let uploads: RemoteUploads?
    let room = RemoteRoom()
    private let state: Shared

    /// The state that the remotes' reports change.
    fileprivate final class Shared: Sendable {
        let notice: @Sendable (String) -> Void
        let counts = Mutex(RemoteCounts())
        let written = Mutex(RemoteCounts())
        let problem = Mutex<KingfisherError?>(nil)
        private let told = Mutex<Set<String>>([])

        init(_ notice: @escaping @Sendable (String) -> Void) { self.notice = notice }

        /// Reports something about a remote once.
        func tellOnce(_ text: String) {
            if told.withLock({ $0.insert(text).inserted }) { notice(text) }
        }
    }

    /// Creates the tier. Nothing is asked before an image needs it. After `deadline`, uploads are waited for a second only.
    init(
        _ layers: [any CacheLayer], writes: Bool, isRequired: Bool, deadline: ContinuousClock.Instant? = nil,
        silence: Duration = Remote.longestSilence, notice: @escaping @Sendable (String) -> Void
    ) {
        let state = Shared(notice)
        self.state = state
        self.isRequired = isRequired
        remotes = layers.map { layer in
            Remote(layer, silence: silence) { remote, change in
                notice("the remote \(remote.name) \(change.text)")
                guard isRequired, change.isFatal else { return }
                state.problem.withLock { problem in
                    problem =
                        problem
                        ?? .cacheError(
                            reason: .remoteIsUnavailable(detail: "the remote \(remote.name) \(change.text)"))
                }
            }
        }
        uploads = writes ? remotes.first.map { RemoteUploads($0, until: deadline) } : nil
        uploads?.tier = self
    }

    /// The error of a required remote; nil when there is none.
    var problem: KingfisherError? { state.problem.withLock { $0 } }

    var counts: RemoteCounts { state.counts.withLock { $0 } }

    /// Returns the counts since the last call, to be written to the disk cache.
    func takeUnwritten() -> RemoteCounts {
        let counts = counts
        return state.written.withLock { written in
            defer { written = counts }
            return counts.subtracting(written)
        }
    }

    /// Whether a look-up would be worth while now.
    var isUp: Bool { problem != nil || remotes.contains { !$0.isDown } }

    func count(_ what: any WritableKeyPath<RemoteCounts, Int64> & Sendable, _ number: Int = 1) {
        state.counts.withLock { $0[keyPath: what] += Int64(number) }
    }

    /// Counts a blob that is not what it should be, and reports the first of its kind.
    func noteDamage(_ what: String, of remote: Remote) {
        count(\.errors)
        state.tellOnce("the remote \(remote.name) has \(what); such images are fetched from their origins")
    }

    func tellOnce(_ text: String) { state.tellOnce(text) }

    /// Waits for the uploads, then releases the connections. Uploads that are not done at the end of the time are dropped.
    /// Blocks.
    func finish() {
        uploads?.drain()
        for remote in remotes { remote.layer.shutdown() }
    }
}

extension RemoteHealth.Change {
    /// The text behind the name of the remote.
    fileprivate var text: String {
        switch self {
        case .rests(let reason): "is not asked for \(RemoteHealth.rest.roundedSeconds) s: \(reason)"
        case .isBack: "answers again"
        case .refusesReading(let reason): "is not used any more: \(reason)"
        case .refusesWriting(let reason): "gets no more uploads: \(reason)"
        case .asksForRest(let span): "gets no uploads for \(span.roundedSeconds) s, as it asks"
        }
    }

    /// Whether it ends a run that requires the remote.
    fileprivate var isFatal: Bool {
        switch self {
        case .rests, .refusesReading, .refusesWriting: true
        case .isBack, .asksForRest: false
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
