import Dispatch
import Glibc
import KFNetwork
import KFRemote
import KFStorage
import KFSystem
import Synchronization

/// The uploads to a remote, behind the run: the object first, then the entry, so that an entry never names an object that
/// is not there yet.
///
/// A fixed number is in progress, and a bounded number waits: for a place, for the end of a pause that the remote needs,
/// for their own next try, or for an equal object. Only a remote that refuses uploads has all of them dropped.
final class RemoteUploads: Sendable {
    private static let mostRunning = DescriptorLimit.beside(32)
    /// The number of waiting uploads from which no transfer from an origin starts, until half of them are done. They hold no
    /// bytes: the objects are read from the disk cache.
    private static let manyWaiting = 4096
    /// The greatest number of uploads that wait. The images in flight may bring that many.
    private static let mostWaiting = 16384
    /// How long the end of a run waits at least, even after its deadline.
    private static let shortestDrain = Duration.seconds(1)
    /// How long an unlimited wait goes on without a sign of work.
    private static let longestSilence = Duration.seconds(15)

    private struct Queue {
        /// A slice, so that the first ones leave without a move of the others.
        var waiting: ArraySlice<RemoteUpload> = []
        var running: [ObjectIdentifier: RemoteUpload] = [:]
        /// The uploads that wait for their next try.
        var resting: [(end: ContinuousClock.Instant, upload: RemoteUpload)] = []
        /// The objects that are being uploaded: each by its first upload, for which the others wait.
        var objects: [Digest: (first: RemoteUpload, others: [RemoteUpload])] = [:]
        var uploaded = RecentValues<Digest>()
        /// The uploads to be given up, and the number of those of which the program is being told.
        var dropped: [RemoteUpload] = []
        var telling = 0
        var total = 0
        /// The time for which the next look at the queue is scheduled.
        var wakes: ContinuousClock.Instant?
        var drained: DispatchSemaphore?
        /// The end of the wait of a process that is about to exit.
        var drainEnd: ContinuousClock.Instant?
        /// The downloaders that start nothing meanwhile.
        var held: [ImageDownloader] = []
        var isPressed = false

        var left: Int {
            waiting.count + running.count + resting.count + telling
                + objects.values.reduce(0) { $0 + $1.others.count }
        }

        /// Removes and returns those that are not in progress.
        mutating func takeIdle() -> [RemoteUpload] {
            let idle = Array(waiting) + resting.map(\.upload) + objects.values.flatMap(\.others)
            (waiting, resting) = ([], [])
            objects = objects.filter { running[ObjectIdentifier($0.value.first)] != nil }.mapValues { ($0.first, []) }
            return idle
        }
    }

    let remote: Remote
    let log: RemoteLog
    private let queue = Mutex(Queue())
    /// How long the end of a run waits; nil as long as bytes move.
    private let longestDrain: Duration?
    private let deadline: ContinuousClock.Instant?

    /// After `deadline`, uploads are waited for a second only.
    init(
        _ remote: Remote, _ log: RemoteLog, waiting longestDrain: Duration? = .seconds(30),
        until deadline: ContinuousClock.Instant? = nil
    ) {
        self.remote = remote
        self.log = log
        self.longestDrain = longestDrain
        self.deadline = deadline
    }

    /// Queues uploads. Drops them if the remote refuses uploads or too many wait. While many wait, the downloader starts
    /// nothing.
    func add(_ uploads: [RemoteUpload], from downloader: ImageDownloader? = nil) {
        guard !uploads.isEmpty else { return }
        // Silence before the first request says nothing about the remote.
        remote.noteActivity()
        let isOverfull = update { queue in
            let room = max(0, Self.mostWaiting - queue.waiting.count)
            queue.waiting += uploads.prefix(room)
            queue.dropped += uploads.dropFirst(room)
            queue.total += uploads.count
            if let downloader, !queue.held.contains(where: { $0 === downloader }) {
                queue.held.append(downloader)
                if queue.isPressed { downloader.changePressure(isHeld: true) }
            }
            return room < uploads.count
        }
        if isOverfull {
            log.tellOnce("too many images wait to be uploaded to the remote \(remote.name); some are not")
        }
    }

    /// The number of uploads that have ended, and of all; nil when none is left.
    var progress: (done: Int, total: Int)? {
        queue.withLock { queue in
            let left = queue.left
            return left == 0 ? nil : (queue.total - left, queue.total)
        }
    }

    /// Changes the queue, starts what may start, drops what the change has given up, and arranges for the next look.
    private func update<Value>(_ change: (inout Queue) -> Value) -> Value {
        let gate = remote.uploadGate
        let now = ContinuousClock.now
        var starts: [RemoteUpload] = []
        var dropped: [RemoteUpload] = []
        var wake: ContinuousClock.Instant?
        let value = queue.withLock { queue in
            let value = change(&queue)
            queue.waiting += queue.resting.filter { $0.end <= now }.map(\.upload)
            queue.resting.removeAll { $0.end <= now }
            switch gate {
            case .closed: queue.dropped += queue.takeIdle()
            case .open: starts = Self.start(&queue)
            case .paused: break
            }
            wake = Self.nextLook(&queue, gate, now)
            press(&queue, gate)
            (dropped, queue.dropped) = (queue.dropped, [])
            queue.telling += dropped.count
            if queue.left == 0 { queue.drained?.signal() }
            return value
        }
        StoreWorkers.shared.add(starts)
        if let wake {
            let seconds = max(.zero, now.duration(to: wake)) / .seconds(1) + 0.001
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in self?.update { _ in } }
        }
        guard !dropped.isEmpty else { return value }
        log.drop(dropped)
        // `drain` ends with counts and lists that are complete.
        queue.withLock { queue in
            queue.telling -= dropped.count
            if queue.left == 0 { queue.drained?.signal() }
        }
        return value
    }

    private static func start(_ queue: inout Queue) -> [RemoteUpload] {
        let starts = Array(queue.waiting.prefix(max(0, mostRunning - queue.running.count)))
        queue.waiting.removeFirst(starts.count)
        // The storage of a slice keeps what has left it.
        if queue.waiting.isEmpty { queue.waiting = [] }
        for upload in starts { queue.running[ObjectIdentifier(upload)] = upload }
        return starts
    }

    /// Returns the time of the next look at the queue if none is scheduled that comes early enough.
    private static func nextLook(
        _ queue: inout Queue, _ gate: RemoteHealth.UploadGate, _ now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
        var next = queue.resting.map(\.end).min()
        if case .paused(let end, _) = gate, !queue.waiting.isEmpty { next = min(next ?? end, end) }
        guard let next, queue.wakes.map({ next < $0 || $0 <= now }) ?? true else { return nil }
        queue.wakes = next
        return next
    }

    /// Holds the downloaders while many uploads wait. A pause holds them only if every upload is waited for: nothing else
    /// would end it soon.
    private func press(_ queue: inout Queue, _ gate: RemoteHealth.UploadGate) {
        var moves = longestDrain == nil
        if case .open = gate { moves = true }
        let isPressed = queue.isPressed
        if moves, queue.waiting.count > Self.manyWaiting {
            queue.isPressed = true
        } else if !moves || queue.waiting.count <= Self.manyWaiting / 2 {
            queue.isPressed = false
        }
        // Under the lock, so that a downloader receives the changes in order.
        if queue.isPressed != isPressed {
            for downloader in queue.held { downloader.changePressure(isHeld: queue.isPressed) }
        }
        if !queue.isPressed { queue.held = [] }
    }

    // MARK: The side of an upload

    enum ObjectClaim { case upload, isThere, wait }

    /// Asks who uploads the object: equal objects of one run are uploaded once. After `wait`, the upload is started again
    /// when the other one has ended.
    func claimObject(_ digest: Digest, _ upload: RemoteUpload) -> ObjectClaim {
        update { queue in
            if queue.uploaded.contains(digest) { return .isThere }
            guard let known = queue.objects[digest] else {
                queue.objects[digest] = (upload, [])
                return .upload
            }
            if known.first === upload { return .upload }
            // Otherwise it was given up at the end of the run.
            if queue.running.removeValue(forKey: ObjectIdentifier(upload)) != nil {
                queue.objects[digest]?.others.append(upload)
            }
            return .wait
        }
    }

    func noteUploaded(_ digest: Digest, _ upload: RemoteUpload) {
        update { queue in
            queue.uploaded.insert(digest)
            Self.release(digest, upload, &queue)
        }
    }

    private static func release(_ digest: Digest, _ upload: RemoteUpload, _ queue: inout Queue) {
        guard let known = queue.objects[digest], known.first === upload else { return }
        queue.waiting += known.others
        queue.objects[digest] = nil
    }

    /// Lets an upload be tried again: after its own rest, or when the remote takes uploads again.
    func repeats(_ upload: RemoteUpload, after rest: Duration) {
        log.count(\.retried)
        update { queue in
            guard queue.running.removeValue(forKey: ObjectIdentifier(upload)) != nil else { return }
            queue.resting.append((.now + rest, upload))
        }
    }

    enum End: Sendable {
        case uploaded
        /// Not shared, given up, or refused, for the stated reason.
        case skipped(String), dropped(String), failed(String)
        /// The ends of a push alone: the remote has the image; or a dry run has found that it lacks it.
        case present, lacking
    }

    /// Counts the end of an upload, and starts the next ones.
    func ended(_ upload: RemoteUpload, _ end: End) {
        update { queue in
            for object in upload.objects { Self.release(object, upload, &queue) }
            // Otherwise it was cut off at the end of the run.
            guard queue.running.removeValue(forKey: ObjectIdentifier(upload)) != nil else { return }
            // Under the lock, so that `drain` finds the counts complete when nothing runs.
            switch end {
            case .uploaded: log.count(\.uploaded)
            case .failed:
                log.count(\.errors)
                queue.dropped.append(upload)
            case .dropped: queue.dropped.append(upload)
            case .skipped, .present, .lacking: break
            }
            upload.tell(end)
        }
    }

    // MARK: The end of a run

    /// Limits the wait of `drain` to `span` from now, for a process that is about to exit.
    func endWaiting(within span: Duration) {
        queue.withLock { queue in
            queue.drainEnd = .now + span
            queue.drained?.signal()
        }
    }

    /// Waits until all uploads have ended, as long as the configuration says. Drops the rest. Blocks.
    func drain() {
        let semaphore = DispatchSemaphore(value: 0)
        queue.withLock { $0.drained = semaphore }
        let start = ContinuousClock.now
        while queue.withLock({ $0.left > 0 }) {
            let end = waitEnd(since: start)
            let left = ContinuousClock.now.duration(to: end)
            // The wait goes on until dropped uploads are counted and listed, even if no time is left.
            if left <= .zero, queue.withLock({ $0.telling == 0 }) { break }
            // The end may move: bytes arrive, a pause begins.
            _ = semaphore.wait(timeout: .now() + max(.zero, min(left, .seconds(1))) / .seconds(1) + 0.001)
        }
        let dropped = queue.withLock { queue in
            let dropped = queue.takeIdle() + Array(queue.running.values)
            (queue.running, queue.objects, queue.drained) = ([:], [:], nil)
            press(&queue, .open)
            return dropped
        }
        guard !dropped.isEmpty else { return }
        log.drop(dropped)
        switch remote.uploadGate {
        case .open: log.noteDropped(dropped.count, "the time for them was over", of: remote.name)
        case .paused(_, isAsked: true): log.noteDropped(dropped.count, "it takes none now", of: remote.name)
        // A message has said so already.
        case .paused, .closed: break
        }
    }

    /// Returns the time at which the wait that began at `start` ends, as things are now.
    private func waitEnd(since start: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        var end = longestDrain.map { start + $0 } ?? now + Self.longestSilence - remote.silentTime
        let (isRunning, drainEnd) = queue.withLock { (!$0.running.isEmpty, $0.drainEnd) }
        // Nothing starts before the end of a pause.
        if case .paused(let pause, _) = remote.uploadGate, !isRunning, pause > end { end = now }
        if let deadline { end = min(end, max(deadline, start + Self.shortestDrain)) }
        return min(end, drainEnd ?? end)
    }
}
