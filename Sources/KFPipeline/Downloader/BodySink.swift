import KFImaging
import KFNetwork
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The sink of a transfer's body: small bodies stay in memory, larger ones go to a file of the cache. A body that can
/// be resumed goes to a file that a later transfer can find.
final class BodySink: TransferSink {
    /// The largest body that stays in memory, in bytes.
    static let memoryLimit = 256 << 10

    private struct State {
        var bytes: [UInt8] = []
        var staged: StagedObject?
        var head: (said: ResponseHead, arrived: Timestamp)?
        /// Whether the body alone exceeds the cache's limit. It is then delivered and not stored.
        var isTooLarge = false
        var staysInMemory = false
        /// The reason why the image is left out, with the head of its response.
        var refusal: (error: KingfisherError, head: ResponseHead)?
        /// The size of the file when the cache was last asked to make room.
        var sizeAtLastEviction: Int64 = 0
    }

    private let store: BodyStore?
    /// The request, of which a body that can be resumed has the digest; nil for one that cannot.
    private let request: (url: RequestURL, terms: DownloadTerms)?
    private let tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    /// Judges the first bytes; nil for a body that is judged when it is whole.
    private let inspector: ImageInspector?
    private let state: Mutex<State>

    /// Creates a sink.
    ///
    /// `store` provides the file; without one, everything stays in memory. `resumed` is the beginning of the body from
    /// an earlier transfer. `tap` receives the bytes as they arrive.
    init(
        _ store: BodyStore?, request: (url: RequestURL, terms: DownloadTerms)? = nil, resumed: StagedObject? = nil,
        inspector: ImageInspector? = nil, tap: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) {
        self.inspector = inspector
        self.store = store
        self.request = request
        self.tap = tap
        state = Mutex(State(staged: resumed))
    }

    func begin(_ head: ResponseHead) {
        state.withLock { state in
            // A 206 continues the partial body: the engine has compared the range with it.
            if head.status == 206 { return }
            state.staged?.abandon()
            // Any other status brings the whole body, which replaces an older partial one.
            let expected = Int(clamping: head.contentLength ?? 0)
            state = State(head: (head, .now()), isTooLarge: store?.isTooLarge(Int64(expected)) ?? false)
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
                    // The disk is full, so the image is not stored. It is still delivered.
                    try takeBack(&state)
                    state.bytes.append(contentsOf: bytes)
                }
            }
        } catch {
            throw SinkError(reason: error.message)
        }
        if inspector?.filter != nil, let (error, head) = judgement() { throw refuse(error, head) }
    }

    /// The reason why the image is left out, with the head of its response; nil if it is not, as far as is known.
    var refusal: (error: KingfisherError, head: ResponseHead)? { state.withLock { $0.refusal } }

    /// Notes that the image is left out, and returns the error that ends its transfer.
    func refuse(_ error: KingfisherError, _ head: ResponseHead) -> SinkError {
        state.withLock { $0.refusal = (error, head) }
        return SinkError(reason: error.message)
    }

    /// Judges the bytes that are in memory, which are the first ones.
    private func judgement() -> (KingfisherError, ResponseHead)? {
        state.withLock { state in
            guard let head = state.head?.said else { return nil }
            let length = head.headers[.contentEncoding] == nil ? head.contentLength : nil
            return state.bytes.withUnsafeBytes { inspector?.refusal(ofStart: $0, length: length) }.map { ($0, head) }
        }
    }

    /// Discards the body of a failed transfer, or keeps a resumable part of it within the cache's limit. Blocks.
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

    /// Whether the body has a file, so that `end` must be called.
    var hasFile: Bool { state.withLock { $0.staged != nil } }

    /// Returns the body of a successful transfer.
    func close() throws(KingfisherError) -> PendingBytes {
        do throws(StorageError) {
            return try state.withLock { state throws(StorageError) in
                guard let staged = state.staged else { return .memory(state.bytes) }
                do throws(StorageError) {
                    try staged.finish(synchronize: false)
                    return .staged(staged)
                } catch let error where error.isDiskFull {
                    // The last bytes of a body are written at this point, so the disk may be full only now.
                    try takeBack(&state)
                    return .memory(state.bytes)
                }
            }
        } catch {
            throw KingfisherError(writing: error)
        }
    }

    /// Returns the facts for resuming the body, or nil if the response gives no basis for that. A response that a proxy
    /// transformed (203) is not the origin's.
    private func facts(_ head: ResponseHead, _ arrived: Timestamp) -> PartialFacts? {
        // A range counts encoded bytes, and the file holds decoded ones.
        guard let (url, terms) = request, head.status == 200, head.headers.all("content-encoding").isEmpty,
            let validator = StrongValidator.of(head.headers, now: arrived)
        else { return nil }
        let types = head.headers.all("content-type")
        guard types.count <= 1 else { return nil }
        return PartialFacts(
            url: url.text, location: head.effectiveURL, request: terms.digest(of: url), validator: validator,
            contentType: types.first, total: head.contentLength)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(StorageError) {
        if state.staged == nil, !state.staysInMemory, state.bytes.count + bytes.count > Self.memoryLimit {
            guard let file = try begin(state, next: bytes) else {
                state.staysInMemory = true
                state.bytes.append(contentsOf: bytes)
                return
            }
            try state.bytes.withBytes(file.write)
            state.bytes = []
            state.staged = file
        }
        if let staged = state.staged {
            try staged.write(bytes)
        } else {
            state.bytes.append(contentsOf: bytes)
        }
    }

    /// Opens the file for a body that exceeds the memory limit. A body that is not an image, or exceeds the cache's
    /// limit, will not be stored: nothing of it may outlive the transfer.
    private func begin(
        _ state: borrowing State, next: UnsafeRawBufferPointer
    ) throws(StorageError) -> StagedObject? {
        let kind = state.bytes.withUnsafeBytes { ContentKind.sniff($0.isEmpty ? next : $0) }
        let isImage = if case .image = kind { true } else { false }
        let file = try store?.begin(isImage && !state.isTooLarge ? state.head.flatMap(facts) : nil)
        if let image = ArrivingImage(kind) { file?.setReader(image) }
        if state.isTooLarge { file?.abandon() }
        return file
    }

    /// Counts a growing body against the cache's limit before it is stored.
    private func noteGrowth(_ state: inout State) {
        guard let store, let staged = state.staged, !state.isTooLarge else { return }
        let size = staged.size
        if store.isTooLarge(size) {
            state.isTooLarge = true
            staged.abandon()
        } else if size - state.sizeAtLastEviction >= store.step {
            state.sizeAtLastEviction = size
            store.cache.makeRoomSoon()
        }
    }

    /// Moves the body from the file back into memory.
    private func takeBack(_ state: inout State) throws(StorageError) {
        state.staysInMemory = true
        guard let staged = state.staged else { return }
        state.bytes = try staged.loadWritten()
        state.staged = nil
    }
}

/// The cache and the key for the file of an arriving body.
struct BodyStore: Sendable {
    let cache: ImageCache
    let key: EntryKey

    init(cache: ImageCache, key: EntryKey) {
        self.cache = cache
        self.key = key
    }

    /// Returns nil if nothing may be stored.
    init?(_ retrieval: Retrieval) {
        if retrieval.options.cacheMemoryOnly { return nil }
        self.init(cache: retrieval.originals, key: retrieval.original.source)
    }

    /// Creates a file for a body, which can be resumed if `facts` are given. Returns nil if nothing can be stored.
    /// Blocks.
    func begin(_ facts: PartialFacts?) throws(StorageError) -> StagedObject? {
        guard let facts else { return try cache.stage() }
        return try cache.beginPartial(for: key, facts)
    }

    /// Returns whether a body of this size alone exceeds the cache's limit.
    func isTooLarge(_ size: Int64) -> Bool {
        let limit = cache.diskConfig.sizeLimit
        return limit > 0 && size > limit
    }

    /// The growth of a body, in bytes, after which the cache is asked to make room.
    var step: Int64 {
        let limit = cache.diskConfig.sizeLimit
        return limit > 0 ? min(16 << 20, max(1 << 20, limit / 8)) : .max
    }

    /// Returns the partial body that an earlier transfer of the same request has left. Blocks.
    func partial(of request: Digest) throws(StorageError) -> (object: StagedObject, facts: PartialFacts)? {
        try cache.takePartial(for: key, request: request)
    }
}
