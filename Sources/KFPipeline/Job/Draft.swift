import KFImaging
import KFRemote
import KFStorage
import KFTerms

/// The result of a job while its image is made and stored.
struct ImageEnding: Sendable {
    enum Content: Sendable {
        case bytes(PendingBytes, ImageFormat, PixelFacts?)
        case processed(ProcessedImage)
        /// An existing file that is delivered unchanged.
        case file(CachedFile)
        /// The image, or one of several, could not be made.
        case failure(KingfisherError)
    }

    /// The retrieval, including the changes that depend on the response.
    var retrieval: Retrieval
    let asked: Retrieval
    let way: RetrievalWay
    var content: Content
    let origin: OriginFacts?
    /// Whether the bytes that the image is made from were hashed by this cache.
    var isOfHashedBytes = true
    var facts = Outcome.Facts()
    /// The claim that keeps other processes from requesting the key until everything is stored.
    var flight: FlightHold?
    /// The cached file that the image is made from; nil for a download.
    var derivation: Derivation?
    /// When the image or its original came from its source or a remote; nil for a cached file.
    var arrived: Timestamp?
    /// The images that are made together of this one.
    var parts: [Draft] = []
    /// The stores of the original and of the image. One whose bytes could not be prepared has already failed.
    var original: StoreOrder?
    var hasOrderedOriginal = false
    var target: StoreOrder?
    /// The terms on which the source was asked that has confirmed the stale entry, and the renewals of that and of others.
    var confirmed: Asking?
    var renewals: [StoreOrder] = []
    /// The tokens that make removals in both caches wait until everything is stored.
    private var tokens: (target: StoresUnderWay.Token, original: StoresUnderWay.Token?)?

    init(
        _ retrieval: Retrieval, asked: Retrieval, _ way: RetrievalWay, _ content: Content, origin: OriginFacts? = nil
    ) {
        self.retrieval = retrieval
        self.asked = asked
        self.way = way
        self.content = content
        self.origin = origin
    }

    /// Makes removals wait until this value is gone.
    mutating func holdStores() {
        let key = retrieval.target.key
        let isSame = retrieval.cache === retrieval.originals
        tokens = (retrieval.cache.stores.begin(key), isSame ? nil : retrieval.originals.stores.begin(key))
    }
}

extension ImageEnding {
    /// Orders the store of the requested image, if it is another one than the original. `source` returns the digest of
    /// the bytes that it was made from; nil if it was not made here. Returns the new store.
    mutating func keepTarget(
        in book: OrderBook?, from source: (ImageEnding) throws(KingfisherError) -> Digest?
    ) -> [StoreOrder] {
        let (retrieval, origin, now) = (self.retrieval, self.origin, self.retrieval.now)
        var bytes: PendingBytes?
        let format: ImageFormat
        let pixels: PixelFacts?
        switch content {
        case .bytes(let found, let its, let facts): (bytes, format, pixels) = (found, its, facts)
        case .processed(let made):
            (bytes, format, pixels) = (.memory(made.bytes), made.format, PixelFacts(made))
        case .file(let file): (format, pixels) = (file.entry.format, file.entry.object.pixels)
        case .failure: return []
        }
        guard !retrieval.wantsOriginal, retrieval.keepsTarget, retrieval.mayStore(origin, now: now) else { return [] }
        do throws(KingfisherError) {
            let digest = try source(self)
            expectStore(of: retrieval.target)
            func make() throws(KingfisherError) -> Store? {
                var own = HeaderLines(nil).measuring(self.facts.measures)
                if let bytes, DescriptionSerializer.isDescription(retrieval.target.identifier) {
                    own = own.describing(DescriptionSerializer.description(in: try bytes.load())?.dhash)
                } else if case .file(let file) = content {
                    own = own.describing(HeaderLines(file.entry.freshness).dhash)
                }
                var facts = retrieval.facts(
                    format: format, pixels: pixels, origin: origin, original: digest, own: own, now: now)
                facts.isMadeHere = isMadeHere
                facts.arrival = arrived.map { OriginalArrival(at: $0, isStored: original?.isPrepared == true) }
                if let bytes { return try retrieval.cache.order(bytes, retrieval.target, facts) }
                guard case .file(let file) = content else { return nil }
                return .keep(file.entry, as: retrieval.target, facts)
            }
            let ordered =
                if let book {
                    try book.order(for: retrieval.target, in: retrieval.cache, make: make)
                } else {
                    try make().map { (order: StoreOrder($0, to: retrieval.cache), isNew: true) }
                }
            guard let ordered else { return [] }
            target = ordered.order
            return ordered.isNew ? [ordered.order] : []
        } catch {
            target = StoreOrder(failed: error, in: retrieval.cache)
            return []
        }
    }

    /// Tells the run that a store of what its source has sent is under way.
    func expectStore(of key: EntryKey) {
        if facts.response != nil { retrieval.options.answers?.expect(key, now: retrieval.now) }
    }
}

/// The ending of a job in an object that never changes: a stage gets one word of it, and reads it there.
final class Draft: Sendable {
    let ending: ImageEnding

    init(_ ending: consuming ImageEnding) { self.ending = ending }

    /// Whether an image was not stored, because its original had been replaced.
    var isOutdated: Bool { ending.target?.isOutdated == true || ending.parts.contains { $0.isOutdated } }

    /// Calls `body` with each store that the result waits for.
    func forEachOrder(_ body: (StoreOrder) -> Void) {
        if let original = ending.original { body(original) }
        if let target = ending.target { body(target) }
        for renewal in ending.renewals { body(renewal) }
        for part in ending.parts { if let target = part.ending.target { body(target) } }
    }

    /// Returns the file of the requested image, if it is stored, and how its stores have ended.
    func outcomes() -> (stored: StoredFile?, storing: CacheStoreResult) {
        var (stored, storing) = (StoredFile?.none, CacheStoreResult())
        if let problem = ending.derivation?.problem { storing.disk = .failed(problem) }
        if case .processed = ending.content, ending.retrieval.usesMemory { storing.memory = .stored }
        func note(_ outcome: StoreOrder.Outcome?, isImage: Bool) {
            switch outcome {
            case .success(let file?)?:
                if storing.diskError == nil { storing.disk = .stored }
                if isImage { stored = file }
                if ending.facts.response != nil { ending.retrieval.options.answers?.confirm(file.entry.key) }
            case .failure(let error)?: storing.disk = .failed(error)
            case .success(nil)?, nil: break
            }
        }
        note(ending.original?.outcome, isImage: ending.retrieval.wantsOriginal)
        note(ending.target?.outcome, isImage: true)
        return (stored, storing)
    }

    /// Returns the result of an image whose stores have ended, and puts it into memory.
    func concluded() throws(KingfisherError) -> RetrieveImageResult {
        let (retrieval, (stored, storing)) = (ending.retrieval, outcomes())
        let result = try result(stored: stored, storing)
        remember(result)
        if ending.arrived != nil { retrieval.options.answers?.note(result, of: retrieval) }
        // The image is stored, and the run that requires the remote ends.
        if let problem = retrieval.originals.remotes?.presentProblem { throw problem }
        return result
    }

    /// Returns the result before anything has been stored, and puts it into memory.
    func early() throws(KingfisherError) -> RetrieveImageResult {
        var storing = CacheStoreResult()
        if let problem = ending.derivation?.problem { storing.disk = .failed(problem) }
        let result = try result(stored: nil, storing)
        remember(result)
        return result
    }

    /// Makes the result, with the stored file open. The files of a batch stay closed unless they are exported. If
    /// another process has removed the file meanwhile, the result has the bytes that were stored.
    private func result(
        stored: StoredFile?, _ storing: CacheStoreResult
    ) throws(KingfisherError) -> RetrieveImageResult {
        let retrieval = ending.retrieval
        if let stored {
            if retrieval.options.batchesStores, !retrieval.options.opensBatchedFiles {
                return result(.stored(stored), storing)
            }
            if let file = try retrieval.cache.open(stored) { return result(.file(file), storing) }
        }
        func delivered(_ bytes: [UInt8], _ format: ImageFormat, _ pixels: PixelFacts?) -> RetrieveImageResult {
            result(.bytes(bytes, stored?.facts ?? ImageFacts(of: bytes, format, pixels), stored), storing)
        }
        switch ending.content {
        case .file(let file): return result(.file(file), storing)
        case .bytes(let bytes, let format, let pixels): return delivered(try bytes.load(), format, pixels)
        case .processed(let made): return delivered(made.bytes, made.format, PixelFacts(made))
        case .failure(let error): throw error
        }
    }

    func result(_ content: Outcome.Content, _ storing: CacheStoreResult) -> RetrieveImageResult {
        RetrieveImageResult(ending.retrieval, asked: ending.asked, ending.way, content, ending.facts, storing)
    }

    /// Puts the image into memory, if the options use it.
    private func remember(_ result: RetrieveImageResult) {
        let (retrieval, origin) = (ending.retrieval, ending.origin)
        guard retrieval.usesMemory else { return }
        let (bytes, image): ([UInt8], Image?)
        switch ending.content {
        case .processed(let made): (bytes, image) = (made.bytes, made.image)
        case .bytes(let pending, _, _):
            // A copy from another cache's original is only kept on disk.
            guard retrieval.wantsOriginal || ending.way == .remote,
                case .success(let loaded) = Result(catching: { () throws(KingfisherError) in try pending.load() })
            else { return }
            (bytes, image) = (loaded, nil)
        case .file, .failure: return
        }
        retrieval.cache.storeInMemory(
            CachedImage(
                bytes: bytes, image: image, facts: result.facts, path: result.cachedPath,
                selection: retrieval.selection(of: origin)),
            retrieval.target, expiration: retrieval.memoryExpiration(by: origin, now: retrieval.now))
    }
}
