import KFImaging
import KFNetwork
import KFStorage
import Synchronization

/// Takes a body as it comes: in memory while it is small, in a file of the cache from then on. What can be resumed when
/// it breaks off is written where it can be found again.
final class BodySink: TransferSink {
    /// Bodies up to this many bytes stay in memory.
    static let memoryLimit = 256 << 10

    private struct State {
        var bytes: [UInt8] = []
        var staged: StagedObject?
        var facts: PartialFacts?
        /// The body alone is larger than the cache may be. It can be delivered, and is not stored.
        var isTooLarge = false
        var staysInMemory = false
        /// The size at which room was made last.
        var roomy: Int64 = 0
    }

    private let store: BodyStore?
    private let url: String
    private let request: Digest
    private let tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    private let state: Mutex<State>

    /// `store` gives the file; without one, everything stays in memory. `resumed` is the body's beginning, from an
    /// earlier transfer. `tap` sees the bytes as they come.
    init(
        _ store: BodyStore?, url: String, request: Digest, resumed: StagedObject?,
        tap: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) {
        self.store = store
        self.url = url
        self.request = request
        self.tap = tap
        state = Mutex(State(staged: resumed))
    }

    func begin(_ head: ResponseHead) throws(SinkError) {
        state.withLock { state in
            // The engine has compared it with what is here.
            if head.status == 206 { return }
            state.staged?.abandon()
            // The whole body comes, whatever is there of an older one.
            let expected = Int(clamping: head.contentLength ?? 0)
            state = State(facts: facts(head), isTooLarge: store?.isTooLarge(Int64(expected)) ?? false)
            state.bytes.reserveCapacity(min(max(expected, 0), Self.memoryLimit))
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        tap?(bytes)
        do {
            try state.withLock { state throws(StorageError) in
                do throws(StorageError) {
                    try write(bytes, &state)
                    noteGrowth(&state)
                } catch let error where error.isDiskFull {
                    // Storing has failed; who asked for the image gets it all the same.
                    try takeBack(&state)
                    state.bytes.append(contentsOf: bytes)
                }
            }
        } catch {
            throw SinkError(reason: error.message)
        }
    }

    /// The transfer has failed: lets go of what came. What can be continued later stays in the cache, as far as the
    /// cache's limit allows. Blocks.
    func end(keeping keeps: Bool) {
        let staged = state.withLock { state in
            defer { state = State(staysInMemory: true) }
            return state.staged
        }
        guard keeps else {
            staged?.abandon()
            return
        }
        staged?.keep()
        store?.cache.notePartial()
    }

    /// Whether there is anything for `end` to do.
    var hasFile: Bool { state.withLock { $0.staged != nil } }

    /// What came, once the transfer has succeeded.
    func finish(synchronize: Bool) throws(StorageError) -> PendingBytes {
        try state.withLock { state throws(StorageError) in
            if let staged = state.staged {
                do throws(StorageError) {
                    try staged.finish(synchronize: synchronize)
                    return .staged(staged)
                } catch let error where error.isDiskFull {
                    // The last bytes of a body are written here.
                    try takeBack(&state)
                }
            }
            return .memory(state.bytes)
        }
    }

    /// Nil when the answer gives nothing to resume by. One that a proxy has transformed (203) is not the origin's.
    private func facts(_ head: ResponseHead) -> PartialFacts? {
        // A range counts encoded bytes, and the file holds decoded ones.
        guard head.status == 200, head.headers.all("content-encoding").isEmpty,
            let validator = StrongValidator.of(head.headers, now: .now())
        else { return nil }
        let types = head.headers.all("content-type")
        guard types.count <= 1 else { return nil }
        return PartialFacts(
            url: url, location: head.effectiveURL, request: request, validator: validator, contentType: types.first,
            total: head.contentLength)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(StorageError) {
        if state.staged == nil, !state.staysInMemory, state.bytes.count + bytes.count > Self.memoryLimit {
            guard let file = try begin(state, next: bytes) else {
                state.staysInMemory = true
                state.bytes.append(contentsOf: bytes)
                return
            }
            let result = state.bytes.withUnsafeBytes { bytes in
                Result { () throws(StorageError) in try file.write(bytes) }
            }
            try result.get()
            state.bytes = []
            state.staged = file
        }
        if let staged = state.staged {
            try staged.write(bytes)
        } else {
            state.bytes.append(contentsOf: bytes)
        }
    }

    /// The file for a body that has become too long for memory. What is no image, or larger than the cache, will not be
    /// stored: nothing of it is to outlive the transfer.
    private func begin(
        _ state: borrowing State, next: UnsafeRawBufferPointer
    ) throws(StorageError) -> StagedObject? {
        let kind = state.bytes.withUnsafeBytes { ContentKind.sniff($0.isEmpty ? next : $0) }
        let isImage = if case .image = kind { true } else { false }
        let file = try store?.begin(isImage && !state.isTooLarge ? state.facts : nil)
        if let image = ArrivingImage(kind) { file?.setReader(image) }
        if state.isTooLarge { file?.abandon() }
        return file
    }

    /// A body takes room in the cache before it is stored.
    private func noteGrowth(_ state: inout State) {
        guard let store, let staged = state.staged, !state.isTooLarge else { return }
        let size = staged.size
        if store.isTooLarge(size) {
            state.isTooLarge = true
            staged.abandon()
        } else if size - state.roomy >= store.step {
            state.roomy = size
            store.cache.makeRoomSoon()
        }
    }

    /// Moves what came from the file into memory.
    private func takeBack(_ state: inout State) throws(StorageError) {
        state.staysInMemory = true
        guard let staged = state.staged else { return }
        state.bytes = try staged.loadWritten()
        state.staged = nil
    }
}

/// Where a body may be written while it comes: the cache, and the key that it is for.
struct BodyStore: Sendable {
    let cache: ImageCache
    let key: EntryKey

    /// A file for a body; one that can be resumed where `facts` say how. Nil when nothing can be stored. Blocks.
    func begin(_ facts: PartialFacts?) throws(StorageError) -> StagedObject? {
        guard let facts else { return try cache.stage() }
        return try cache.beginPartial(for: key, facts)
    }

    /// Whether a body of so many bytes cannot be stored, because it alone exceeds the cache's limit.
    func isTooLarge(_ size: Int64) -> Bool {
        let limit = cache.diskConfig.sizeLimit
        return limit > 0 && size > limit
    }

    /// After so many bytes of a growing body, the cache is asked to keep to its limit.
    var step: Int64 {
        let limit = cache.diskConfig.sizeLimit
        return limit > 0 ? min(16 << 20, max(1 << 20, limit / 8)) : .max
    }

    /// What an earlier transfer of the same request has left. Blocks.
    func take(_ request: Digest) throws(StorageError) -> (object: StagedObject, facts: PartialFacts)? {
        try cache.takePartial(for: key, request: request)
    }
}
