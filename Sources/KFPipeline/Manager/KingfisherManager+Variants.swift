import KFImaging
import KFStorage
import KFTerms
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
        var results: [Result<RetrieveImageResult, KingfisherError>] = []
        var retrievals: [Retrieval] = []
        var places: [Int] = []
        for options in options {
            do throws(KingfisherError) {
                retrievals.append(Retrieval(source, OptionsBox(try await prepared(options, for: source)), cache))
                places.append(results.count)
                results.append(.failure(.requestError(reason: .taskCancelled)))
            } catch {
                results.append(.failure(error))
            }
        }
        if let first = retrievals.first {
            let found = await self.results(of: first, .several(retrievals))
            for (place, result) in zip(places, found) { results[place] = result.map(repairable) }
        }
        return results
    }

    /// Retrieves several images of one source with lists of options, which are added to the manager's
    /// ``defaultOptions``.
    public func retrieveVariants(
        of source: some SourceConvertible, options: [KingfisherOptionsInfo]
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        await retrieveVariants(of: source.convertToSource(), options: options.map { self.options($0) })
    }
}

/// Several images of one source.
///
/// Cached images are taken as they are, and then those that a remote has. Of the others, those with the same bytes and
/// the same decoding are made together, and each of the rest alone.
extension KingfisherManager {
    /// Looks for the images of a job, and starts jobs for those that are not cached.
    func split(_ job: ImageJob, _ retrievals: [Retrieval], _ turn: inout Turn) {
        var split = Split(retrievals.count)
        var together: [Int] = []
        for (place, retrieval) in retrievals.enumerated() {
            do throws(KingfisherError) {
                if let found = try cachedImage(retrieval) {
                    split.results[place] = .success(found)
                } else if retrieval.canShareDecoding(with: together.first.map { retrievals[$0] }) {
                    together.append(place)
                } else {
                    split.add([place]) { ImageJob(self, retrieval, for: job, number: $0) }
                }
            } catch {
                split.results[place] = .failure(error)
            }
        }
        cache.alreadyOpen?.writeReadsSoon()
        if let first = together.first, asksRemotes(retrievals[first]) {
            for place in together {
                split.add([place]) {
                    ImageJob(self, retrievals[place], .oneOfRemotes, for: job, number: $0, asking: Asking())
                }
            }
        } else {
            split.add(together: together, of: retrievals, for: job)
        }
        guard job.enter(.split(split)) else { return }
        if split.jobs.isEmpty { land([], of: job, retrievals, &turn) } else { start(split.jobs) }
    }

    /// Takes the ends of a job's parts. The last one ends the job, unless images that no remote has are to be made.
    fileprivate func land(_ ended: [EndedImage], of job: ImageJob, _ retrievals: [Retrieval], _ turn: inout Turn) {
        let next = job.split { split, state -> [ImageJob]? in
            for image in ended { split.take(image) }
            guard split.open == 0 else { return nil }
            let missed = state.isCancelled ? [] : split.missed.sorted()
            (split.missed, split.jobs, split.places) = ([], [], [])
            split.add(together: missed, of: retrievals, for: job)
            return split.jobs
        }
        for image in ended { job.countAttempts(image.job.attempts) }
        guard let next, let next else { return }
        if !next.isEmpty { return start(next) }
        let results = job.split { split, _ in
            split.results.map { $0 ?? .failure(.requestError(reason: .taskCancelled)) }
        }
        guard let results, let first = results.first else { return }
        job.state.withLock { $0.results = results }
        turn.end(job, first)
    }
}

extension ImageJob: ImageRecipient {
    package func take(_ ended: [EndedImage]) {
        if case .several(let retrievals) = wanted { Turn.run { manager.land(ended, of: self, retrievals, &$0) } }
    }
}

extension Split {
    /// Adds the job that makes images together.
    fileprivate mutating func add(together places: [Int], of retrievals: [Retrieval], for job: ImageJob) {
        guard let first = places.first.map({ retrievals[$0] }) else { return }
        let original = Retrieval(first.source, first.box.ofOriginal, job.manager.cache, pin: first.pin)
        add(places) { number in
            ImageJob(job.manager, original, .together(places.map { retrievals[$0] }), for: job, number: number)
        }
    }
}

/// The bytes that several images are made from.
struct VariantOriginal: Sendable {
    let bytes: [UInt8]
    let format: ImageFormat
    let digest: Digest
    /// Whether the images may be stored.
    var isStored = true
    /// The count of removals of the original's cache when it was found; nil for one that was just fetched.
    var removals: UInt64?
}

/// Making several images from the same bytes.
extension KingfisherManager {
    func makeVariants(of image: DownloadedImage, _ ending: ImageEnding, _ job: ImageJob, _ turn: inout Turn) {
        var ending = ending
        let group = keepOriginal(of: image, &ending, job)
        do throws(KingfisherError) {
            let original = VariantOriginal(
                bytes: try image.bytes.load(), format: image.format, digest: try image.digest(stored: ending.original),
                isStored: image.isKept)
            makeVariants(of: original, ending, group, job, &turn)
        } catch {
            turn.store(group, urgent: !ending.retrieval.options.batchesStores)
            fail(job, error, &turn)
        }
    }

    /// Makes the variants from an original in memory.
    func makeVariants(of original: RetrieveImageResult, _ job: ImageJob) {
        let retrieval = job.retrieval
        let removals = retrieval.originals.memory.removals
        // The parts have the images; the ending of them all has none.
        var ending = ImageEnding(
            retrieval, asked: job.asked, .derived, .failure(retrieval.absence(nil, now: cache.now)),
            origin: original.origin(for: retrieval))
        ending.facts.attempts = job.attempts
        if retrieval.options.notesOriginal, let known = original.original {
            (ending.facts.original, ending.facts.originalBytes) = (known.digest, known.bytes ?? original.facts.bytes)
        }
        ending.facts.measures = original.originalMeasures
        guard job.enter(.making(.body(ending))) else { return }
        let work = WorkerTask { [self, ending] turn in
            do throws(KingfisherError) {
                let bytes = try original.loadData()
                let digest = bytes.withUnsafeBytes { SHA256.hash($0) }
                let found = VariantOriginal(
                    bytes: bytes, format: original.facts.format, digest: digest, removals: removals)
                makeVariants(of: found, ending, [], job, &turn)
            } catch {
                fail(job, error, &turn)
            }
        }
        StoreWorkers.shared.add([work])
    }

    /// Makes the variants, and stores them with the stores of `group`.
    func makeVariants(
        of original: VariantOriginal, _ ending: ImageEnding, _ group: [StoreOrder], _ job: ImageJob,
        _ turn: inout Turn
    ) {
        var (ending, group) = (ending, group)
        let retrieval = ending.retrieval
        let known = job.variants.map { sameResult(of: original.digest, $0) }
        let missing = job.variants.indices.filter { known[$0] == nil }
        let results = VariantMaker.make(missing.map { job.variants[$0] }, of: original.bytes, original.format)
        var made = results[...]
        ending.holdStores()
        let isKept =
            original.isStored
            && (original.removals == nil || !isRemoved(retrieval.original, since: original.removals, retrieval))
        ending.parts = zip(job.variants, known).map { variant, known in
            var variant = variant.of(representation: retrieval.target.representation)
            if !isKept { variant = variant.unstored }
            var part = ImageEnding(
                variant, asked: variant, known == nil ? ending.way.ofResults : .disk,
                known.map { .file($0) } ?? ImageEnding.Content(made.removeFirst()), origin: ending.origin)
            part.facts = ending.facts
            part.original = ending.original
            part.isOfHashedBytes = ending.isOfHashedBytes
            if case .processed(let image) = part.content {
                part.facts.warn(image.warnings)
                if image.warnings.contains(where: \.isDamage) { part.retrieval = part.retrieval.unstored }
            }
            group += keepTarget(of: &part, in: nil) { _ in original.digest }
            return part
        }
        turn.store(group, urgent: !retrieval.options.batchesStores)
        job.wait(forStoresOf: ending, &turn)
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

extension Retrieval {
    /// Returns whether both need the same bytes and the same decoding. Unprocessed images need no decoding.
    fileprivate func canShareDecoding(with other: Retrieval?) -> Bool {
        guard !options.processor.identifier.isEmpty else { return false }
        return other.map { options.processing == $0.options.processing && hasSameOriginal(as: $0) } ?? true
    }

    private func hasSameOriginal(as other: Retrieval) -> Bool {
        guard original == other.original, pin == other.pin, cache === other.cache, originals === other.originals else {
            return false
        }
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
    fileprivate var ofResults: RetrievalWay { [.fetched, .remote, .stale, .pinned].contains(self) ? self : .derived }
}

extension OptionsBox {
    /// The options for the original of the variants.
    fileprivate var ofOriginal: OptionsBox {
        with { options in
            options.takeOriginal()
            options.cacheMemoryOnly = options.cacheMemoryOnly || !options.cacheOriginalImage
            options.waitForCache = true
        }
    }
}
