import KFImaging
import KFStorage
import Synchronization

extension KingfisherManager {
    /// Retrieves several images of one source, in the order of the options. Each equals the result of `retrieveImage`
    /// alone.
    ///
    /// The source is asked at most once. Common decoding, and the common first steps of the processors, are done once.
    /// The rest runs in parallel.
    public func retrieveVariants(
        of source: Source, options: [KingfisherOptions]
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        var retrievals: [Result<Retrieval, KingfisherError>] = []
        for options in options {
            do throws(KingfisherError) {
                retrievals.append(
                    .success(Retrieval(source, OptionsBox(try await prepared(options, for: source)), cache)))
            } catch {
                retrievals.append(.failure(error))
            }
        }
        let waiting = WaitingForVariants()
        let variants = VariantsJob(self, retrievals, for: waiting)
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                waiting.begin(continuation)
                variants.start()
            }
        } onCancel: {
            variants.cancel()
        }
    }

    /// Retrieves several images of one source with lists of options, which are added to the manager's
    /// ``defaultOptions``.
    public func retrieveVariants(
        of source: some SourceConvertible, options: [KingfisherOptionsInfo]
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        await retrieveVariants(of: source.convertToSource(), options: options.map { self.options($0) })
    }
}

/// The recipient of the results of a `VariantsJob`.
protocol VariantsRecipient: AnyObject, Sendable {
    func take(_ job: VariantsJob, _ results: [Result<RetrieveImageResult, KingfisherError>])
}

private final class WaitingForVariants: VariantsRecipient {
    typealias Results = [Result<RetrieveImageResult, KingfisherError>]

    private let continuation = Mutex<UnsafeContinuation<Results, Never>?>(nil)

    func begin(_ continuation: UnsafeContinuation<Results, Never>) { self.continuation.withLock { $0 = continuation } }

    func take(_ job: VariantsJob, _ results: Results) {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume(returning: results)
    }
}

/// Several images of one source.
///
/// Cached images are taken as they are, and then those that a remote has. Of the others, those with the same bytes and
/// the same decoding are made together, and each of the rest alone. `@unchecked Sendable` for `shared`, which is written
/// before the job starts that reads it.
final class VariantsJob: ImageRecipient, @unchecked Sendable {
    private struct State {
        var results: [Result<RetrieveImageResult, KingfisherError>?]
        var jobs: [ImageJob] = []
        var open = 1
        /// The indices of images to be made together that no remote has.
        var missed: [Int] = []
        var isCancelled = false
        var attempts = 0
    }

    private let manager: KingfisherManager
    private let retrievals: [Result<Retrieval, KingfisherError>]
    private let recipient: any VariantsRecipient
    /// The number of the job among those of its recipient.
    let number: Int
    /// The indices of the images that the shared job makes.
    private var shared: [Int] = []
    private let state: Mutex<State>

    init(
        _ manager: KingfisherManager, _ retrievals: [Result<Retrieval, KingfisherError>],
        for recipient: any VariantsRecipient, number: Int = 0
    ) {
        self.manager = manager
        self.retrievals = retrievals
        self.recipient = recipient
        self.number = number
        state = Mutex(State(results: retrievals.map { _ in nil }))
    }

    /// The number of requests made.
    var attempts: Int { state.withLock { $0.attempts } }

    func start() { StoreWorkers.blocking.submit { [self] in split() } }

    func cancel() {
        let jobs = state.withLock { state in
            state.isCancelled = true
            return state.jobs
        }
        for job in jobs { job.cancel() }
    }

    func cancelUnlessStarted() {
        for job in state.withLock({ $0.jobs }) { job.cancelUnlessStarted() }
    }

    private func split() {
        var jobs: [ImageJob] = []
        var together: [Retrieval] = []
        // The images to be made together are asked of the remotes one by one.
        var askedAlone: [ImageJob] = []
        for (index, retrieval) in retrievals.enumerated() {
            do throws(KingfisherError) {
                let retrieval = try retrieval.get()
                if var found = try manager.cachedImage(retrieval) {
                    found.repairer = manager
                    state.withLock { $0.results[index] = .success(found) }
                } else if retrieval.canShareDecoding(with: together.first) {
                    together.append(retrieval)
                    let job = ImageJob(manager, retrieval, for: self, number: index)
                    (job.hasLooked, job.endsAfterRemotes) = (true, true)
                    askedAlone.append(job)
                } else {
                    jobs.append(ImageJob(manager, retrieval, for: self, number: index))
                }
            } catch {
                state.withLock { $0.results[index] = .failure(error) }
            }
        }
        manager.cache.alreadyOpen?.writeReadsSoon()
        if let first = askedAlone.first, manager.asksRemotes(first) {
            jobs += askedAlone
        } else if let job = makeTogether(askedAlone.map(\.number)) {
            jobs.append(job)
        }
        start(jobs)
        land([])
    }

    /// Returns the job that makes images together; nil for none.
    private func makeTogether(_ indices: [Int]) -> ImageJob? {
        if indices.isEmpty { return nil }
        shared = indices
        let together = indices.compactMap { index in
            if case .success(let retrieval) = retrievals[index] { retrieval } else { nil }
        }
        guard let first = together.first else { return nil }
        let original = Retrieval(first.source, first.box.ofOriginal, manager.cache)
        let job = ImageJob(manager, original, for: self, number: -1)
        job.variants = together
        return job
    }

    private func start(_ jobs: [ImageJob]) {
        let isCancelled = state.withLock { state in
            state.jobs += jobs
            state.open += jobs.count
            return state.isCancelled
        }
        if isCancelled { for job in jobs { job.cancel() } }
        manager.start(jobs)
    }

    func take(_ ended: [EndedImage]) { land(ended) }

    private func land(_ ended: [EndedImage]) {
        let (results, missed) = state.withLock {
            state -> ([Result<RetrieveImageResult, KingfisherError>]?, missed: [Int]) in
            for image in ended {
                state.attempts += image.job.attempts
                if image.job.endsAfterRemotes, case .failure(let error) = image.result,
                    !error.isCancellation, !error.isCacheFailure
                {
                    state.missed.append(image.job.number)
                    continue
                }
                if image.job.number >= 0 {
                    state.results[image.job.number] = image.result
                    continue
                }
                // Read once, because the stores of a cancelled job may still end meanwhile.
                let made = image.job.results
                for (place, index) in shared.enumerated() {
                    state.results[index] = made.isEmpty ? image.result : made[place]
                }
            }
            state.open -= max(1, ended.count)
            guard state.open == 0 else { return (nil, []) }
            if !state.missed.isEmpty, !state.isCancelled {
                defer { (state.missed, state.open) = ([], 1) }
                return (nil, state.missed.sorted())
            }
            state.jobs = []
            return (state.results.map { $0 ?? .failure(.requestError(reason: .taskCancelled)) }, [])
        }
        if let job = makeTogether(missed) {
            start([job])
            land([])
        }
        if let results { recipient.take(self, results) }
    }
}

/// Making several images from the same bytes.
extension KingfisherManager {
    func finishVariants(_ image: DownloadedImage, _ job: ImageJob, _ batch: StoreBatch) {
        guard let ending = job.ending else { return }
        var group: [StoreOrder] = []
        keepOriginal(image, job, ending, &group)
        do throws(KingfisherError) {
            let digest = try digest(of: image.bytes, stored: ending.originalOrder)
            let bytes = try image.bytes.load()
            makeVariants(bytes, image.format, digest, isStored: !image.isPersonal, &group, job, batch)
        } catch {
            fail(job, error, &batch.deliveries)
        }
    }

    func finishVariants(_ bytes: [UInt8], _ entry: Entry, _ job: ImageJob, _ batch: StoreBatch) {
        var group: [StoreOrder] = []
        makeVariants(
            bytes, entry.format, entry.object.digest, isStored: job.derivation?.keeps ?? true,
            since: job.derivation?.removals, &group, job, batch)
    }

    /// Makes the variants from a cached original.
    func makeVariants(of original: RetrieveImageResult, _ job: ImageJob) {
        StoreWorkers.shared.add([FoundOriginal(original, job, self)])
    }

    /// Makes the variants. `removals` is the memory cache's count of removals when the original was found.
    fileprivate func finishVariants(
        _ original: RetrieveImageResult, since removals: UInt64, _ job: ImageJob, _ batch: StoreBatch
    ) {
        do throws(KingfisherError) {
            let bytes = try original.loadData()
            let ending = ImageEnding(
                job.retrieval, asked: job.asked, .derived, .failure(job.retrieval.absence(nil, now: cache.now)),
                origin: original.origin(for: job.retrieval))
            ending.facts.attempts = job.attempts
            job.ending = ending
            var group: [StoreOrder] = []
            let digest = bytes.withUnsafeBytes { SHA256.hash($0) }
            makeVariants(
                bytes, original.facts.format, digest, isStored: true, since: removals, &group, job, batch)
        } catch {
            fail(job, error, &batch.deliveries)
        }
    }

    private func makeVariants(
        _ bytes: [UInt8], _ format: ImageFormat, _ digest: Digest, isStored: Bool, since removals: UInt64? = nil,
        _ group: inout [StoreOrder], _ job: ImageJob, _ batch: StoreBatch
    ) {
        guard let ending = job.ending else { return }
        let made = VariantMaker.make(job.variants, of: bytes, format)
        ending.holdStores()
        let isKept =
            isStored
            && (removals == nil || !isRemoved(ending.retrieval.original, since: removals, ending.retrieval))
        ending.parts = zip(job.variants, made).map { retrieval, result in
            var retrieval = retrieval.of(representation: ending.retrieval.target.representation)
            if !isKept { retrieval = retrieval.unstored }
            let part = ImageEnding(
                retrieval, asked: retrieval, ending.way.ofResults, ImageEnding.Content(result), origin: ending.origin)
            part.facts = ending.facts
            part.originalOrder = ending.originalOrder
            part.originalProblem = ending.originalProblem
            if case .processed(let image) = part.content {
                part.facts.warn(image.warnings)
                keepMade(image, retrieval, part, nil, &group) { _ in digest }
            }
            return part
        }
        submit(group, job, ending.retrieval, batch)
    }
}

extension ImageEnding.Content {
    fileprivate init(_ made: Result<ProcessedImage, KingfisherError>) {
        switch made {
        case .success(let image): self = .processed(image)
        case .failure(let error): self = .failure(error)
        }
    }
}

/// A worker's task that makes variants from a cached original.
private final class FoundOriginal: StoreWork {
    private let original: RetrieveImageResult
    private let job: ImageJob
    private let manager: KingfisherManager
    private let removals: UInt64

    init(_ original: RetrieveImageResult, _ job: ImageJob, _ manager: KingfisherManager) {
        self.original = original
        removals = job.retrieval.originals.memory.removals
        self.job = job
        self.manager = manager
    }

    func run(in batch: StoreBatch) {
        if !job.isCancelled { manager.finishVariants(original, since: removals, job, batch) }
    }
}

extension Retrieval {
    /// Returns whether both need the same bytes and the same decoding. Unprocessed images need no decoding.
    fileprivate func canShareDecoding(with other: Retrieval?) -> Bool {
        guard !options.processor.identifier.isEmpty else { return false }
        return other.map { options.processing == $0.options.processing && hasSameOriginal(as: $0) } ?? true
    }

    private func hasSameOriginal(as other: Retrieval) -> Bool {
        guard original == other.original, cache === other.cache, originals === other.originals else { return false }
        guard case .network(let resource) = source else { return true }
        let requests = [options.request, other.options.request]
        if requests.contains(where: { $0.redirectHandler != nil && $0.redirectHandler?.cacheIdentity == nil }) {
            return false
        }
        let digests = requests.map { RequestIdentity.digest(resource.downloadURL, $0) }
        return digests[0] == digests[1] && box.download.isAlike(other.box.download)
    }
}

extension RetrievalWay {
    /// The way of the results that are made of an original that came this way.
    fileprivate var ofResults: RetrievalWay { [.fetched, .remote, .stale].contains(self) ? self : .derived }
}

extension OptionsBox {
    /// The options for the original of the variants.
    fileprivate var ofOriginal: OptionsBox {
        with { options in
            options.processor = DefaultImageProcessor()
            options.cacheSerializer = DefaultCacheSerializer()
            options.onlyLoadFirstFrame = false
            options.decodeLimits.scaleDownBytes = nil
            options.scaleFactor = 1
            options.cacheMemoryOnly = options.cacheMemoryOnly || !options.cacheOriginalImage
            options.waitForCache = true
        }
    }
}
