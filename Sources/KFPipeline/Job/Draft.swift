import KFImaging
import KFRemote
import KFStorage
import KFTerms

/// The result of a job while its image is made and stored.
struct ImageEnding: Sendable {
    enum Content: Sendable {
        /// The image is being made.
        case unmade
        /// The bytes of the body.
        case body
        case processed(ProcessedImage)
        /// An existing file that is delivered unchanged.
        case file(CachedFile)
        /// The image, or one of several, could not be made.
        case failure(KingfisherError)
    }

    /// The retrieval, including the changes that depend on the response.
    var retrieval: Retrieval
    let asked: Retrieval
    var way: RetrievalWay
    var content: Content
    /// The bytes that the image is made from. The places below are those of stores in it.
    var body: Body
    let origin: OriginFacts?
    var facts: Outcome.Facts
    /// The cached file that the image is made from; nil for a download.
    var derivation: Derivation?
    /// When the image or its original came from its source or a remote; nil for a cached file.
    var arrived: Timestamp?
    /// The images that are made together of this one.
    var parts: [ImageEnding] = []
    /// The stores of the original and of the image.
    var original: Int?
    var hasOrderedOriginal = false
    var target: Int?
    /// The terms on which the source was asked that has confirmed the stale entry, and the renewals of that and of others.
    var confirmed: Asking?
    var renewals: [Int] = []
    /// The tokens that make removals in both caches wait until everything is stored.
    private var tokens: (target: StoresUnderWay.Token, original: StoresUnderWay.Token?)?

    init(
        _ retrieval: Retrieval, asked: Retrieval, _ way: RetrievalWay, _ content: Content, of body: Body,
        origin: OriginFacts? = nil, facts: Outcome.Facts = Outcome.Facts(), arrived: Timestamp? = nil
    ) {
        self.retrieval = retrieval
        self.asked = asked
        self.way = way
        self.content = content
        self.body = body
        self.origin = origin
        self.facts = facts
        self.arrived = arrived
    }

    /// Makes removals wait until this value is gone.
    mutating func holdStores() {
        let key = retrieval.target.key
        let isSame = retrieval.cache === retrieval.originals
        tokens = (retrieval.cache.stores.begin(key), isSame ? nil : retrieval.originals.stores.begin(key))
    }
}

extension ImageEnding {
    /// Whether the image is still to be made.
    var isMissing: Bool {
        if case .unmade = content { true } else { false }
    }

    /// Notes what has come of making the image. One of damaged bytes is not stored.
    mutating func note(_ made: Result<ProcessedImage, KingfisherError>) {
        switch made {
        case .success(let image):
            content = .processed(image)
            facts.warn(image.warnings)
            if image.warnings.contains(where: \.isDamage) { retrieval = retrieval.unstored }
        case .failure(let error): content = .failure(error)
        }
    }

    /// Whether this cache made the image, from bytes that it hashed.
    private var isMadeHere: Bool {
        switch content {
        case .processed: derivation.map { retrieval.isHashed($0.found) } ?? true
        case .file(let file): retrieval.cache.isMadeHere(file.entry)
        case .unmade, .body, .failure: false
        }
    }

    /// Orders the store of the requested image, if it is another one than the original.
    mutating func keepTarget(_ turn: inout Turn) {
        guard !retrieval.wantsOriginal, retrieval.keepsTarget else { return }
        let (retrieval, origin, now) = (self.retrieval, self.origin, self.retrieval.now)
        let bytes: PendingBytes?
        let format: ImageFormat
        let pixels: PixelFacts?
        switch content {
        case .body: (bytes, format, pixels) = (body.bytes, body.format, body.pixels)
        case .processed(let made):
            (bytes, format, pixels) = (.memory(made.bytes), made.format, PixelFacts(made))
        case .file(let file): (bytes, format, pixels) = (nil, file.entry.format, file.entry.object.pixels)
        case .unmade, .failure: return
        }
        guard retrieval.mayStore(origin, now: now) else { return }
        expectStore(of: retrieval.target)
        target = body.keep(retrieval.target, in: retrieval.cache, &turn) { () throws(KingfisherError) in
            let source = if case .body = content { body.entry?.original } else { try body.digest() }
            var own = HeaderLines(nil).measuring(facts.measures)
            if let bytes, DescriptionSerializer.isDescription(retrieval.target.identifier) {
                own = own.describing(DescriptionSerializer.description(in: try bytes.load())?.dhash)
            } else if case .file(let file) = content {
                own = own.describing(HeaderLines(file.entry.freshness).dhash)
            }
            var described = retrieval.facts(
                format: format, pixels: pixels, origin: origin, original: source, own: own, now: now)
            described.isMadeHere = isMadeHere
            described.arrival = arrived.map {
                OriginalArrival(at: $0, isStored: original.map { body.isPrepared($0) } ?? false)
            }
            if let bytes { return try retrieval.cache.order(bytes, retrieval.target, described) }
            guard case .file(let file) = content else { return nil }
            return .keep(file.entry, as: retrieval.target, described)
        }
    }

    /// Orders the store of the original, once for all jobs that share it.
    mutating func keepOriginal(_ turn: inout Turn) {
        let (retrieval, body, origin) = (self.retrieval, self.body, self.origin)
        guard retrieval.keepsOriginal, body.isKept, retrieval.mayStore(origin, now: retrieval.now) else { return }
        expectStore(of: retrieval.original)
        original = body.keep(retrieval.original, in: retrieval.originals, &turn) { () throws(KingfisherError) in
            try retrieval.originals.order(
                body.bytes, retrieval.original,
                retrieval.facts(
                    format: body.format, pixels: body.pixels, origin: origin, original: nil, now: retrieval.now),
                digest: body.digestSoFar)
        }
        guard let original else { return }
        // A job that also keeps the image in memory needs its bytes there.
        body.note(original, moves: !retrieval.usesMemory)
    }

    /// Tells the run that a store of what its source has sent is under way.
    private func expectStore(of key: EntryKey) {
        if facts.response != nil { retrieval.options.answers?.expect(key, now: retrieval.now) }
    }
}

/// The ending of a job in an object that never changes: a stage gets one word of it, and reads it there.
final class Draft: Sendable {
    let ending: ImageEnding

    init(_ ending: consuming ImageEnding) { self.ending = ending }

    /// Whether an image was not stored, because its original had been replaced.
    var isOutdated: Bool {
        ([ending] + ending.parts).contains { image in
            if case .success(nil)? = image.target.flatMap({ image.body.outcome(of: $0) }) { true } else { false }
        }
    }

    /// Calls `body` with each store that the result waits for.
    func forEachStore(_ body: (Int) -> Void) {
        if let original = ending.original { body(original) }
        if let target = ending.target { body(target) }
        for renewal in ending.renewals { body(renewal) }
        for part in ending.parts { if let target = part.target { body(target) } }
    }
}

extension ImageEnding {
    /// Returns the file of the requested image, if it is stored, and how its stores have ended. What failed for its original
    /// alone is no failure of a stored image.
    func outcomes() -> (stored: StoredFile?, storing: CacheStoreResult) {
        var (stored, storing) = (StoredFile?.none, CacheStoreResult())
        storing.originalError = derivation?.problem
        if case .processed = content, retrieval.usesMemory { storing.memory = .stored }
        func note(_ place: Int?, isImage: Bool) {
            switch place.flatMap({ body.outcome(of: $0) }) {
            case .success(let file?)?:
                storing.disk = .stored
                if isImage { stored = file }
                if facts.response != nil { retrieval.options.answers?.confirm(file.entry.key) }
            case .failure(let error)? where isImage: storing.disk = .failed(error)
            case .failure(let error)?: storing.originalError = error
            case .success(nil)?, nil: break
            }
        }
        note(original, isImage: retrieval.wantsOriginal)
        note(target, isImage: true)
        if stored == nil, let error = storing.originalError.take(), storing.diskError == nil {
            storing.disk = .failed(error)
        }
        return (stored, storing)
    }

    /// Returns the result of an image whose stores have ended, and puts it into memory.
    func concluded() throws(KingfisherError) -> RetrieveImageResult {
        let (stored, storing) = outcomes()
        let result = try result(stored: stored, storing)
        remember(result)
        if arrived != nil { retrieval.options.answers?.note(result, of: retrieval) }
        // The image is stored, and the run that requires the remote ends.
        if let problem = retrieval.originals.remotes?.presentProblem { throw problem }
        return result
    }

    /// Returns the result before anything has been stored, and puts it into memory.
    func early() throws(KingfisherError) -> RetrieveImageResult {
        let result = try result(stored: nil, CacheStoreResult())
        remember(result)
        return result
    }

    /// Whether the image is a description made now. Its caller reads it in any case, and the file may be evicted before.
    private var isDescription: Bool {
        if case .processed = content { DescriptionSerializer.isDescription(retrieval.target.identifier) } else { false }
    }

    /// Makes the result, with the stored file open. The files of a batch stay closed unless they are exported. If
    /// another process has removed the file meanwhile, the result has the bytes that were stored.
    private func result(
        stored: StoredFile?, _ storing: CacheStoreResult
    ) throws(KingfisherError) -> RetrieveImageResult {
        if let stored, !isDescription {
            if retrieval.options.batchesStores, !retrieval.options.opensBatchedFiles {
                return result(.stored(stored), storing)
            }
            if let file = try retrieval.cache.open(stored) { return result(.file(file), storing) }
        }
        func delivered(_ bytes: [UInt8], _ format: ImageFormat, _ pixels: PixelFacts?) -> RetrieveImageResult {
            result(.bytes(bytes, stored?.facts ?? ImageFacts(of: bytes, format, pixels), stored), storing)
        }
        switch content {
        case .file(let file): return result(.file(file), storing)
        case .body: return delivered(try body.bytes.load(), body.format, body.pixels)
        case .processed(let made): return delivered(made.bytes, made.format, PixelFacts(made))
        case .failure(let error): throw error
        case .unmade: throw retrieval.absence(nil, now: retrieval.now)
        }
    }

    func result(_ content: Outcome.Content, _ storing: CacheStoreResult) -> RetrieveImageResult {
        RetrieveImageResult(retrieval, asked: asked, way, content, facts, storing)
    }

    /// Puts the image into memory, if the options use it.
    private func remember(_ result: RetrieveImageResult) {
        guard retrieval.usesMemory else { return }
        let (bytes, image): ([UInt8], Image?)
        switch content {
        case .processed(let made): (bytes, image) = (made.bytes, made.image)
        case .body:
            // A copy from another cache's original is only kept on disk.
            guard retrieval.wantsOriginal || way == .remote, let loaded = bestEffort({ try body.bytes.load() })
            else { return }
            (bytes, image) = (loaded, nil)
        case .file, .failure, .unmade: return
        }
        retrieval.cache.storeInMemory(
            CachedImage(
                bytes: bytes, image: image, facts: result.facts, path: result.cachedPath,
                selection: retrieval.selection(of: origin)),
            retrieval.target, expiration: retrieval.memoryExpiration(by: origin, now: retrieval.now))
    }
}
