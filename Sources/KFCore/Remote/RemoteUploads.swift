import Dispatch
import Glibc
import KFNetwork
import KFStorage
import Synchronization

/// The uploads to a remote, behind the run: the object first, then the entry, so that an entry never names an object that
/// is not there yet.
///
/// A fixed number is in progress, and a bounded number waits. When the remote takes no more, all are dropped.
final class RemoteUploads: Sendable {
    /// The greatest number of uploads in progress.
    private static let mostRunning = DescriptorLimit.beside(32)
    /// The number of waiting uploads from which no transfer from an origin starts, until half of them are done. They hold no
    /// bytes: the objects are read from the disk cache.
    private static let manyWaiting = 4096
    /// The greatest number of uploads that wait. The images in flight may bring that many.
    private static let mostWaiting = 16384
    /// How long the end of a run waits for uploads.
    private static let longestDrain = Duration.seconds(30)
    /// How long it waits at least, even after the deadline of a run.
    private static let shortestDrain = Duration.seconds(1)

    private struct State {
        var waiting: [RemoteUpload?] = []
        var head = 0
        var running = 0
        /// The uploads in progress that have been counted as dropped.
        var givenUp = 0
        var drained: DispatchSemaphore?
        /// The downloaders that start nothing meanwhile.
        var held: [any UploadPressure] = []
    }

    let remote: Remote
    private let state = Mutex(State())
    private let drainEnd = Mutex<ContinuousClock.Instant?>(nil)

    let log: RemoteLog
    private let deadline: ContinuousClock.Instant?

    /// After `deadline`, uploads are waited for a second only.
    init(_ remote: Remote, _ log: RemoteLog, until deadline: ContinuousClock.Instant? = nil) {
        self.remote = remote
        self.log = log
        self.deadline = deadline
    }

    /// Queues uploads, or drops them if the remote takes none now or too many wait. While many wait, the downloader starts
    /// nothing.
    func add(_ uploads: [RemoteUpload], from downloader: any UploadPressure) {
        guard !uploads.isEmpty else { return }
        guard remote.admitsUpload() else {
            log.count(\.dropped, uploads.count)
            return
        }
        let (starts, dropped) = state.withLock { state -> ([RemoteUpload], Int) in
            let room = max(0, Self.mostWaiting - (state.waiting.count - state.head))
            state.waiting += uploads.prefix(room).map { $0 }
            return (Self.startable(&state), max(0, uploads.count - room))
        }
        if dropped > 0 {
            log.count(\.dropped, dropped)
            log.tellOnce("too many images wait to be uploaded to the remote \(remote.name); some are not")
        }
        hold(downloader)
        StoreWorkers.shared.add(starts)
    }

    private func hold(_ downloader: any UploadPressure) {
        // Under the lock, so that the downloader receives the changes in order.
        state.withLock { state in
            guard state.waiting.count - state.head > Self.manyWaiting,
                !state.held.contains(where: { $0 === downloader })
            else { return }
            state.held.append(downloader)
            downloader.changePressure(isHeld: true)
        }
    }

    private static func letGo(_ state: inout State) {
        guard state.waiting.count - state.head <= manyWaiting / 2 else { return }
        for downloader in state.held { downloader.changePressure(isHeld: false) }
        state.held = []
    }

    private static func startable(_ state: inout State) -> [RemoteUpload] {
        var starts: [RemoteUpload] = []
        while state.running < mostRunning, state.head < state.waiting.count {
            if let upload = state.waiting[state.head] { starts.append(upload) }
            state.waiting[state.head] = nil
            state.head += 1
            state.running += 1
        }
        if state.head == state.waiting.count || state.head > 1024 {
            state.waiting.removeFirst(state.head)
            state.head = 0
        }
        letGo(&state)
        return starts
    }

    enum End { case uploaded, dropped, skipped }

    /// Counts a failed request, unless it was cut off at the end of the run.
    func noteError() {
        if state.withLock({ $0.givenUp == 0 }) { log.count(\.errors) }
    }

    /// Counts the end of an upload, and starts the next ones.
    func ended(_ end: End) {
        let isCounted = state.withLock { state in
            if state.givenUp == 0 { return true }
            state.givenUp -= 1
            return false
        }
        switch end {
        case .uploaded where isCounted: log.count(\.uploaded)
        case .dropped where isCounted: log.count(\.dropped)
        case .uploaded, .dropped, .skipped: break
        }
        let isOpen = remote.admitsUpload()
        let (starts, drained) = state.withLock { state -> ([RemoteUpload], DispatchSemaphore?) in
            state.running -= 1
            if !isOpen {
                // Under the lock, so that `drain` finds the counts complete when nothing runs.
                log.count(\.dropped, state.waiting.count - state.head)
                (state.waiting, state.head) = ([], 0)
            }
            let starts = Self.startable(&state)
            return (starts, state.running == 0 ? state.drained : nil)
        }
        StoreWorkers.shared.add(starts)
        drained?.signal()
    }

    /// Limits the wait of `drain` to `span` from now, for a process that is about to exit.
    func endWaiting(within span: Duration) {
        drainEnd.withLock { $0 = .now + span }
        state.withLock { _ = $0.drained?.signal() }
    }

    /// Waits until all uploads have ended, at most 30 s. Drops the rest. Blocks.
    func drain() {
        let semaphore = DispatchSemaphore(value: 0)
        let isIdle = state.withLock { state in
            if state.running == 0 { return true }
            state.drained = semaphore
            return false
        }
        let start = ContinuousClock.now
        let longest = start + Self.longestDrain
        let end = deadline.map { min(longest, max($0, start + Self.shortestDrain)) } ?? longest
        while !isIdle {
            let limit = min(end, drainEnd.withLock { $0 } ?? end)
            let left = ContinuousClock.now.duration(to: limit)
            if left <= .zero || state.withLock({ $0.running == 0 }) { break }
            _ = semaphore.wait(timeout: .now() + .milliseconds(Int(clamping: left.milliseconds + 1)))
        }
        let dropped = state.withLock { state in
            let dropped = state.waiting.count - state.head + state.running - state.givenUp
            state.givenUp = state.running
            (state.waiting, state.head, state.drained) = ([], 0, nil)
            Self.letGo(&state)
            return dropped
        }
        guard dropped > 0 else { return }
        log.count(\.dropped, dropped)
        log.noteDropped(dropped, "the time for them was over", of: remote.name)
    }
}

/// A downloader that starts nothing while many uploads wait.
protocol UploadPressure: AnyObject, Sendable {
    func changePressure(isHeld: Bool)
}

/// The upload of one image.
///
/// `@unchecked Sendable`, because one worker at a time owns it; the answer of the layer is under the lock.
final class RemoteUpload: StoreWork, RemoteWaiter, @unchecked Sendable {
    private enum Step { case begin, original, object, write, entry }

    private let uploads: RemoteUploads
    private let entry: RemoteEntry
    private let file: StoredFile
    private let terms: Terms
    private var step = Step.begin
    private let answer = Mutex(CacheLayerAnswer.absent)
    /// The entry of the original, as the remote has it.
    private let read = Mutex<[UInt8]>([])

    /// The conditions of an upload.
    struct Terms: Sendable {
        /// The reach of the address that the image came from; nil for an image that was made of a cached original.
        var origin: NetworkReach?
        /// The key of the original that the remote must have; nil for an image from its origin.
        var original: EntryKey?
        /// Whether the remote probably has the object already.
        var isKnown = false
        /// Whether to replace an object that is not what it should be.
        var replaces = false
    }

    /// The size from which an object is asked for before it is sent, in bytes.
    private static let checkedFrom: Int64 = 256 << 10

    init(_ entry: RemoteEntry, _ file: StoredFile, _ terms: Terms, to uploads: RemoteUploads) {
        self.entry = entry
        self.file = file
        self.terms = terms
        self.uploads = uploads
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        read.withLock { $0.append(contentsOf: bytes) }
        return true
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) -> (any StoreWork)? {
        self.answer.withLock { $0 = answer }
        return self
    }

    func run(in batch: StoreBatch) {
        let answer = answer.withLock { $0 }
        switch step {
        case .begin:
            if let original = terms.original {
                step = .original
                return ask(.read, .entry, RemoteEntry.name(of: original), batch)
            }
            checkObject(batch)
        case .original:
            // An original that is not in the remote may be secret, and then its results are too. The name alone proves
            // nothing: the remote may have another image there.
            guard answer == .done else { return uploads.ended(answer == .absent ? .skipped : .dropped) }
            let name = terms.original.map(RemoteEntry.name) ?? ""
            guard let found = RemoteEntry(read.withLock { $0 }, name: name), found.object == entry.original else {
                return uploads.ended(.skipped)
            }
            checkObject(batch)
        case .object:
            switch answer {
            case .done: writeEntry(batch)
            case .absent: writeObject(batch)
            default: fail(answer)
            }
        case .write: if answer == .done { writeEntry(batch) } else { fail(answer) }
        case .entry: if answer == .done { uploads.ended(.uploaded) } else { fail(answer) }
        }
    }

    private func checkObject(_ batch: StoreBatch) {
        // The request also brings the remote's address.
        let isUnknown = terms.origin != nil && uploads.remote.layer.reach == nil
        guard isUnknown || !terms.replaces && (terms.isKnown || entry.size >= Self.checkedFrom) else {
            return writeObject(batch)
        }
        step = .object
        ask(.check, .object, entry.object.hex, batch)
    }

    private func writeObject(_ batch: StoreBatch) {
        guard isAllowed else { return uploads.ended(.skipped) }
        do throws(KingfisherError) {
            step = .write
            let body = CacheLayerBody.file(try file.open())
            ask(.write(body, replaces: terms.replaces), .object, entry.object.hex, batch)
        } catch {
            // The image was evicted meanwhile.
            uploads.ended(.dropped)
        }
    }

    private func writeEntry(_ batch: StoreBatch) {
        let json = entry.json
        // Readers refuse a longer one.
        guard isAllowed, json.count <= RemoteEntry.longest else { return uploads.ended(.skipped) }
        step = .entry
        ask(.write(.bytes(json), replaces: true), .entry, entry.name, batch)
    }

    /// Whether the remote is no further away than the origin of the image.
    private var isAllowed: Bool {
        guard let origin = terms.origin, origin < uploads.remote.layer.reach ?? .internet else { return true }
        uploads.log.tellOnce(
            "images of private addresses are not uploaded to the remote \(uploads.remote.name), which is further away")
        return false
    }

    private func ask(
        _ operation: CacheLayerRequest.Operation, _ kind: CacheLayerRequest.Kind, _ name: String, _ batch: StoreBatch
    ) {
        guard uploads.remote.isWritable else { return uploads.ended(.dropped) }
        batch.starts.add(
            CacheLayerRequest(
                operation, kind, name, limit: Int64(RemoteEntry.longest), of: uploads.remote, for: self),
            to: uploads.remote)
    }

    private func fail(_ answer: CacheLayerAnswer) {
        if case .refusedBlob(let reason) = answer {
            uploads.log.tellOnce(
                "the remote \(uploads.remote.name) refuses an image: \(reason)", kind: "\(uploads.remote.name) refuses")
        }
        if case .busy = answer {} else { uploads.noteError() }
        uploads.ended(.dropped)
    }
}
