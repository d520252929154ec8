import KFImaging
import KFNetwork
import KFStorage
import KFSystem
import KFTerms

/// A body while it arrives: small ones stay in memory, larger ones go to a file of the cache. A body that can be resumed
/// goes to a file that a later transfer can find.
///
/// It lies in the lock of its transfer or look-up. Its `store` provides the file; without one, everything stays in memory.
struct ArrivingBody: Sendable {
    /// The largest body that stays in memory, in bytes.
    static let memoryLimit = 256 << 10

    private var bytes: [UInt8] = []
    private var staged: StagedObject?
    private var head: (said: ResponseHead, arrived: Timestamp)?
    /// Whether the body alone exceeds the cache's limit. It is then delivered and not stored.
    private var isTooLarge = false
    private var staysInMemory = false
    /// The reason why the image is left out, with the head of its response; nil if it is not, as far as is known.
    private(set) var refusal: (error: KingfisherError, head: ResponseHead)?
    /// The size of the file when the cache was last asked to make room.
    private var sizeAtLastEviction: Int64 = 0

    init() {}

    /// Creates a body that continues the part of an earlier transfer.
    init(continuing staged: StagedObject?) { self.staged = staged }

    mutating func begin(_ head: ResponseHead, in store: BodyStore?) {
        // A 206 continues the partial body: the engine has compared the range with it.
        if head.status == 206 { return }
        staged?.abandon()
        // Any other status brings the whole body, which replaces an older partial one.
        let expected = Int(clamping: head.contentLength ?? 0)
        self = ArrivingBody()
        (self.head, isTooLarge) = ((head, .now()), store?.isTooLarge(Int64(expected)) ?? false)
        bytes.reserveCapacity(min(max(expected, 0), Self.memoryLimit))
    }

    /// Adds bytes. `download` is the transfer, if a later one may resume it. Blocks.
    mutating func receive(
        _ bytes: UnsafeRawBufferPointer, in store: BodyStore?, of download: ImageDownload? = nil
    ) throws(SinkError) {
        do throws(StorageError) {
            do throws(StorageError) {
                try write(bytes, store, download)
                noteGrowth(store)
            } catch let error where error.isDiskFull {
                // The disk is full, so the image is not stored. It is still delivered.
                try takeBack()
                self.bytes.append(contentsOf: bytes)
            }
        } catch {
            throw SinkError(reason: error.message)
        }
    }

    /// Notes that the image is left out, and returns the error that ends its transfer.
    mutating func refuse(_ error: KingfisherError, _ head: ResponseHead) -> SinkError {
        refusal = (error, head)
        return SinkError(reason: error.message)
    }

    /// Judges the bytes that are in memory, which are the first ones. Throws if the image is left out.
    mutating func judge(by inspector: ImageInspector) throws(SinkError) {
        guard let head = head?.said else { return }
        let length = head.headers[.contentEncoding] == nil ? head.contentLength : nil
        let error = bytes.withUnsafeBytes { inspector.refusal(ofStart: $0, length: length) }
        if let error { throw refuse(error, head) }
    }

    /// Discards the body of a failed transfer, or keeps a resumable part of it. Returns whether there is one, so that the
    /// cache has to make room. Blocks.
    mutating func end(keeping keeps: Bool, in store: BodyStore?) -> Bool {
        let staged = staged
        self = ArrivingBody()
        staysInMemory = true
        guard keeps, let staged else {
            staged?.abandon()
            return false
        }
        staged.keep()
        store?.cache.notePartial()
        return true
    }

    /// Returns the body of a successful transfer, which is no longer here unless it has a file.
    mutating func close() throws(KingfisherError) -> PendingBytes {
        do throws(StorageError) {
            if let staged {
                do throws(StorageError) {
                    try staged.finish(synchronize: false)
                    return .staged(staged)
                } catch let error where error.isDiskFull {
                    // The last bytes of a body are written at this point, so the disk may be full only now.
                    try takeBack()
                }
            }
        } catch {
            throw KingfisherError(writing: error)
        }
        defer { bytes = [] }
        return .memory(bytes)
    }

    private mutating func write(
        _ bytes: UnsafeRawBufferPointer, _ store: BodyStore?, _ download: ImageDownload?
    ) throws(StorageError) {
        if staged == nil, !staysInMemory, self.bytes.count + bytes.count > Self.memoryLimit {
            if let file = try beginFile(next: bytes, store, download) {
                try self.bytes.withBytes(file.write)
                (self.bytes, staged) = ([], file)
            } else {
                staysInMemory = true
            }
        }
        if let staged { try staged.write(bytes) } else { self.bytes.append(contentsOf: bytes) }
    }

    /// Opens the file for a body that exceeds the memory limit. A body that is not an image, or exceeds the cache's
    /// limit, will not be stored: nothing of it may outlive the transfer.
    private func beginFile(
        next: UnsafeRawBufferPointer, _ store: BodyStore?, _ download: ImageDownload?
    ) throws(StorageError) -> StagedObject? {
        let kind = bytes.withUnsafeBytes { ContentKind.sniff($0.isEmpty ? next : $0) }
        let isImage = if case .image = kind { true } else { false }
        let facts = isImage && !isTooLarge ? head.flatMap { download?.partialFacts(of: $0.said, at: $0.arrived) } : nil
        let file = try store?.begin(facts)
        if let image = ArrivingImage(kind) { file?.setReader(image) }
        if isTooLarge { file?.abandon() }
        return file
    }

    /// Counts a growing body against the cache's limit before it is stored.
    private mutating func noteGrowth(_ store: BodyStore?) {
        guard let staged, !isTooLarge, let store else { return }
        let size = staged.size
        if store.isTooLarge(size) {
            isTooLarge = true
            staged.abandon()
        } else if size - sizeAtLastEviction >= store.step {
            sizeAtLastEviction = size
            store.cache.makeRoomSoon()
        }
    }

    /// Moves the body from the file back into memory.
    private mutating func takeBack() throws(StorageError) {
        staysInMemory = true
        guard let staged else { return }
        bytes = try staged.loadWritten()
        self.staged = nil
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

    /// Creates a file for a body, which can be resumed if `facts` are given: the caller holds the flight of the key then.
    /// Returns nil if nothing can be stored. Blocks.
    func begin(_ facts: PartialFacts?) throws(StorageError) -> StagedObject? {
        guard let facts else { return try cache.stage() }
        return try cache.writableStorage()?.beginPartial(for: key, facts)
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
        try cache.writableStorage()?.takePartial(for: key, request: request)
    }
}
