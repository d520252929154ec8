import KFImaging
import KFRemote
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The bytes of a whole image: checked ones of a source or a remote, or those of a cached image. It has the stores of
/// them and of what is made from them: each key is stored once, for all jobs and however late they join. When all stores
/// have ended, the works that brought and made the images are over.
final class Body: Sendable {
    /// A store: reserved, under way or ended.
    private struct Kept {
        let key: EntryKey
        let cache: ImageCache
        /// The change to store; nil while it is being prepared.
        var change: Store?
        /// The jobs that wait for the end; there is nearly always one.
        var waiter: ImageJob?
        var others: [ImageJob] = []
        var outcome: StoreOrder.Outcome?
        /// Whether the stored image has been offered to a remote.
        var isShared = false
        /// Whether it could not be prepared, so that a later job may try again.
        var isDropped = false
    }

    private struct Content {
        var bytes: PendingBytes
        var digest: Digest?
        var kept: [Kept] = []
        /// The number of stores that have not ended, and of works that have not delivered.
        var open: Int
        /// The works that are over when that is 0. They refer to this body until then.
        var work: (any SharedWork)?
        var makings: [Making] = []
        /// Whether the delegate has received the unprocessed image.
        var hasTold = false
    }

    let format: ImageFormat
    let pixels: PixelFacts?
    /// The outcome of the check; nil for a cached image.
    let findings: ImageInspector.Findings?
    /// The response; nil for a provider, a remote or a cached image.
    let response: ResponseFacts?
    /// The URL that was requested, after the request modifier; nil without a request.
    let url: RequestURL?
    /// Whether a redirect handler or challenge responder without an identity influenced the response. The image then
    /// belongs to this call alone.
    let isPersonal: Bool
    /// The claim that keeps other processes from requesting the key.
    let flight: FlightHold?
    /// The entry of the remote that it came from; nil if it came from its source.
    let entry: RemoteEntry?
    /// How it came: fetched, from a remote, or from one without an entry for it (pinned).
    let way: RetrievalWay
    /// The key of the cached image, and the count of removals of its cache when it was found; nil for one that is never
    /// removed. Nil for bytes that have just arrived.
    let found: (key: EntryKey, removals: UInt64?)?
    /// The room that it takes, until everything is stored.
    private let room: (Room, bytes: Int64)?
    private let content: Mutex<Content>

    /// Creates the body that a work brings. The work calls `deliver`.
    init(
        _ bytes: PendingBytes, _ findings: ImageInspector.Findings, of work: any SharedWork,
        response: ResponseFacts? = nil, url: RequestURL? = nil, isPersonal: Bool = false, flight: FlightHold? = nil,
        entry: RemoteEntry? = nil, way: RetrievalWay = .fetched, room: (Room, bytes: Int64)? = nil
    ) {
        (format, pixels) = (findings.format, findings.info.map(PixelFacts.init))
        (self.findings, self.response, self.url, self.isPersonal) = (findings, response, url, isPersonal)
        (self.flight, self.entry, self.way, self.room, found) = (flight, entry, way, room, nil)
        content = Mutex(Content(bytes: bytes, open: 1, work: work))
    }

    /// Creates the body of a cached image.
    convenience init(
        _ bytes: PendingBytes, _ format: ImageFormat, _ pixels: PixelFacts?, _ digest: Digest,
        found: (key: EntryKey, removals: UInt64?)
    ) {
        self.init(format, pixels, found, nil, Content(bytes: bytes, digest: digest, open: 0))
    }

    /// Creates the body of an answer without bytes, which is about a cached image. The work calls `release`.
    convenience init(confirmedBy work: any SharedWork, flight: FlightHold? = nil) {
        self.init(.png, nil, nil, flight, Content(bytes: .memory([]), open: 1, work: work))
    }

    private init(
        _ format: ImageFormat, _ pixels: PixelFacts?, _ found: (key: EntryKey, removals: UInt64?)?,
        _ flight: FlightHold?, _ content: Content
    ) {
        (self.format, self.pixels, self.found, self.flight) = (format, pixels, found, flight)
        (findings, response, url, isPersonal, entry, way, room) = (nil, nil, nil, false, nil, .disk, nil)
        self.content = Mutex(content)
    }

    deinit { if let (room, bytes) = room { room.change(bytes: -bytes, count: -1) } }

    /// Whether the image and what is made from it may be stored.
    var isKept: Bool { !isPersonal && way != .pinned && findings?.warnings.contains(where: \.isDamage) != true }

    /// Whether it is the image as its server sent it. A remote may have had the processed image.
    var isOriginal: Bool { entry?.original == nil }

    /// The bytes, in memory or in a file of the cache.
    var bytes: PendingBytes { content.withLock { $0.bytes } }

    /// The measures of the original, which may be another image than one that a remote had; nil if they are not known.
    var originalMeasures: ImageMeasures? {
        if let entry, !isOriginal { return HeaderLines(entry.freshness).measures }
        let info = findings?.info
        return ImageMeasures(format: format, width: info?.width, height: info?.height, bytes: bytes.size)
    }

    /// Delivers the image to all waiters of the work that brought it.
    func deliver(of work: any SharedWork, reporting received: Int64? = nil, _ turn: inout Turn) {
        work.table.deliver(.body(self), of: work, stays: true, reporting: received, &turn)
        release()
    }

    // MARK: The hash

    /// Returns the digest of the bytes. They are hashed once.
    func digest() throws(KingfisherError) -> Digest {
        if let digest = digestSoFar { return digest }
        let digest = try bytes.digest()
        content.withLock { $0.digest = digest }
        return digest
    }

    /// The digest, if it is known.
    var digestSoFar: Digest? { content.withLock { $0.digest } }

    /// Throws `unexpectedContent` (2011) unless the bytes have the hash.
    func check(_ pin: ContentHash?) throws(KingfisherError) {
        guard let pin else { return }
        let digest = try digest()
        let matches = if let known = pin.matches(digest) { known } else { pin.matches(try bytes.load()) }
        if matches { return }
        let found = pin.function == .sha256 ? ContentHash(digest) : pin.function.hash(of: try bytes.load())
        throw .responseError(
            reason: .unexpectedContent(expected: pin.description, found: found.description, bytes: bytes.size))
    }

    // MARK: The delegate

    /// Returns a closure that passes a processed image to the delegate; nil without a delegate or a URL.
    func telling(_ delegate: (any ImageDownloaderDelegate)?) -> (@Sendable (Image) -> Void)? {
        guard let delegate, let url else { return nil }
        return { [response] made in delegate.imageDownloader(didDownload: made, for: url, with: response) }
    }

    /// Passes the unprocessed image to the delegate, once.
    func tell(_ delegate: any ImageDownloaderDelegate, _ options: ProcessingOptions) {
        guard format.isDecodable, delegate.wantsUnprocessedImages, let tell = telling(delegate) else { return }
        let hasTold = content.withLock { content in
            defer { content.hasTold = true }
            return content.hasTold
        }
        if hasTold { return }
        let decoded = Result {
            let loaded = try bytes.load()
            return try Allowance(options.decode.limits, fileBytes: loaded.count).run { () throws(ImagingError) in
                try ImageDecoder.decode(loaded, options: options.decode)
            }
        }
        // The call did not request pixels, so damage must not fail it.
        if case .success(let image) = decoded { tell(image) }
    }

    // MARK: Stores

    /// Orders the store of a key. Returns its place among the stores of this body; nil if there is nothing to store. Its
    /// outcome is an error if `make`, which returns the change, throws.
    ///
    /// The key is reserved first. `make` runs without a lock, because on a full disk it waits for the writer, which
    /// ends stores. A job that wants the same store meanwhile waits for its end.
    func keep(_ key: EntryKey, in cache: ImageCache, _ turn: inout Turn, make: () throws(KingfisherError) -> Store?)
        -> Int?
    {
        let (place, isNew) = content.withLock { content in
            let known = content.kept.firstIndex { $0.key == key && $0.cache === cache && !$0.isDropped }
            if let known { return (known, false) }
            content.kept.append(Kept(key: key, cache: cache))
            content.open += 1
            return (content.kept.count - 1, true)
        }
        guard isNew else { return place }
        do throws(KingfisherError) {
            guard let change = try make() else {
                drop(place, .success(nil))
                return nil
            }
            content.withLock { $0.kept[place].change = change }
            turn.store(StoreOrder(change, in: cache, .body(self, place)))
        } catch {
            drop(place, .failure(error))
        }
        return place
    }

    private func drop(_ place: Int, _ outcome: StoreOrder.Outcome) {
        content.withLock { $0.kept[place].isDropped = true }
        Turn.run { end(place, outcome, &$0) }
    }

    /// Notes that a store has the bytes of this body. With `moves`, they are read from its file from now on.
    func note(_ place: Int, moves: Bool) {
        content.withLock { content in
            guard let change = content.kept[place].change else { return }
            content.digest = content.digest ?? change.digest
            if moves, let file = change.staged { content.bytes = .staged(file) }
        }
    }

    /// Ends a store, and concludes the jobs for which this was the last one.
    func end(_ place: Int, _ outcome: StoreOrder.Outcome, _ turn: inout Turn) {
        let (first, others) = content.withLock { content in
            defer { (content.kept[place].waiter, content.kept[place].others) = (nil, []) }
            content.kept[place].outcome = outcome
            return (content.kept[place].waiter, content.kept[place].others)
        }
        first?.stored(&turn)
        for job in others { job.stored(&turn) }
        release()
    }

    /// Lets the job wait for the store. Returns false if it has ended.
    func wait(for place: Int, _ job: ImageJob) -> Bool {
        content.withLock { content in
            if content.kept[place].outcome != nil { return false }
            if content.kept[place].waiter == nil {
                content.kept[place].waiter = job
            } else {
                content.kept[place].others.append(job)
            }
            return true
        }
    }

    /// Returns the outcome of a store; nil before its end.
    func outcome(of place: Int) -> StoreOrder.Outcome? { content.withLock { $0.kept[place].outcome } }

    /// Returns whether the bytes of a store could be prepared, as far as is known.
    func isPrepared(_ place: Int) -> Bool {
        content.withLock { $0.kept[place].change != nil || $0.kept[place].outcome == nil }
    }

    /// Returns true for the first caller, which offers the stored image to a remote.
    func isToBeShared(_ place: Int) -> Bool {
        content.withLock { content in
            defer { content.kept[place].isShared = true }
            return !content.kept[place].isShared
        }
    }

    // MARK: Works

    /// Keeps the works in the table until a call of `release`.
    func hold() { content.withLock { $0.open += 1 } }

    /// Keeps the work that has made images in the table, until all stores have ended.
    func keep(_ making: Making) { content.withLock { $0.makings.append(making) } }

    func release() {
        let (work, makings) = content.withLock { content -> ((any SharedWork)?, [Making]) in
            content.open -= 1
            guard content.open == 0 else { return (nil, []) }
            defer { (content.work, content.makings) = (nil, []) }
            return (content.work, content.makings)
        }
        for making in makings { making.table.end(making) }
        work?.stored()
    }
}
