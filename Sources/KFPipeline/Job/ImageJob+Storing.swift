import KFImaging
import KFStorage
import KFTerms

/// The last stages: ordering the stores, and delivering the image when they have ended.
extension KingfisherManager {
    /// Orders the stores of an image and of its original `image`, delivers it first unless its recipient waits for them,
    /// and concludes the job when they have ended. `book` has the stores of other jobs for the same bytes.
    func store(
        _ ending: consuming ImageEnding, of image: DownloadedImage? = nil, in book: OrderBook? = nil, _ job: ImageJob,
        _ turn: inout Turn
    ) {
        let isUrgent = !ending.retrieval.options.batchesStores
        // The images of a list are not delivered before they are stored, and are too many to be tracked.
        if isUrgent || ending.derivation != nil { ending.holdStores() }
        if let derivation = ending.derivation,
            isRemoved(derivation.file.entry.key, since: derivation.removals, ending.retrieval)
        {
            ending.retrieval = ending.retrieval.unstored
        }
        deliverEarly(ending, job, turn)
        var group: [StoreOrder] = []
        if let image, image.isOriginal { group = keepOriginal(of: image, &ending, job) }
        group += keepTarget(of: &ending, in: book) { ending throws(KingfisherError) in
            if case .bytes = ending.content { return image?.entry?.original }
            guard let image else { return ending.derivation?.digest }
            return try image.digest(stored: ending.original)
        }
        turn.store(group, urgent: isUrgent)
        job.wait(forStoresOf: ending, &turn)
    }

    /// Orders the store of an original before anything is made of it: it is committed as soon as it is whole.
    func orderOriginal(of image: DownloadedImage, _ ending: inout ImageEnding, _ job: ImageJob, _ turn: inout Turn) {
        let isUrgent = !ending.retrieval.options.batchesStores
        if isUrgent { ending.holdStores() }
        turn.store(keepOriginal(of: image, &ending, job), urgent: isUrgent)
    }

    private func deliverEarly(_ ending: ImageEnding, _ job: ImageJob, _ turn: Turn) {
        if ending.retrieval.options.waitForCache || job.isDelivered { return }
        do throws(KingfisherError) {
            let result = try result(of: ending, stored: nil)
            remember(ending, result)
            turn.deliver(early: job, result)
        } catch {
            // The bytes may be readable once they have been stored.
        }
    }

    /// Orders the store of the original, once for all jobs that share it. Returns the new stores.
    private func keepOriginal(
        of image: DownloadedImage, _ ending: inout ImageEnding, _ job: ImageJob
    ) -> [StoreOrder] {
        if ending.hasOrderedOriginal { return [] }
        ending.hasOrderedOriginal = true
        let retrieval = ending.retrieval
        var group = keepServed(job)
        guard retrieval.keepsOriginal, image.isKept, retrieval.mayStore(ending.origin, now: cache.now) else {
            return group
        }
        do throws(KingfisherError) {
            let origin = ending.origin
            expect(retrieval.original, of: ending)
            let ordered = try image.stores.order(for: retrieval.original, in: retrieval.originals) {
                () throws(KingfisherError) in
                try retrieval.originals.order(
                    image.bytes, retrieval.original,
                    retrieval.facts(
                        format: image.format, pixels: image.info.map(PixelFacts.init), origin: origin, original: nil,
                        now: cache.now), digest: image.digestSoFar)
            }
            guard let ordered else { return group }
            ending.original = .store(ordered.order)
            if ordered.isNew { group.append(ordered.order) }
            // A job that also keeps the image in memory needs its bytes there.
            guard let file = ordered.order.change?.staged, !retrieval.usesMemory else { return group }
            if ordered.isNew { image.move(to: file) }
            if case .bytes(_, let format, let pixels) = ending.content {
                ending.content = .bytes(.staged(file), format, pixels)
            }
        } catch {
            // The image is still delivered, and its result reports the error.
            ending.original = .failed(error)
        }
        return group
    }

    /// Orders the store of the requested image, if it is another one than the original. `original` returns the digest of
    /// the bytes that it was made from; nil if it was not made here. Returns the new store.
    func keepTarget(
        of ending: inout ImageEnding, in book: OrderBook?,
        from original: (ImageEnding) throws(KingfisherError) -> Digest?
    ) -> [StoreOrder] {
        let (retrieval, origin, now) = (ending.retrieval, ending.origin, cache.now)
        var bytes: PendingBytes?
        let format: ImageFormat
        let pixels: PixelFacts?
        switch ending.content {
        case .bytes(let found, let its, let facts): (bytes, format, pixels) = (found, its, facts)
        case .processed(let made):
            if retrieval.usesMemory { ending.facts.storing.memory = .stored }
            (bytes, format, pixels) = (.memory(made.bytes), made.format, PixelFacts(made))
        case .file(let file): (format, pixels) = (file.entry.format, file.entry.object.pixels)
        case .failure: return []
        }
        guard !retrieval.wantsOriginal, retrieval.keepsTarget, retrieval.mayStore(origin, now: now) else { return [] }
        do throws(KingfisherError) {
            let digest = try original(ending)
            expect(retrieval.target, of: ending)
            func make() throws(KingfisherError) -> Store? {
                var own = HeaderLines(nil).measuring(ending.facts.measures)
                if let bytes, DescriptionSerializer.isDescription(retrieval.target.identifier) {
                    own = own.describing(DescriptionSerializer.description(in: try bytes.load())?.dhash)
                } else if case .file(let file) = ending.content {
                    own = own.describing(HeaderLines(file.entry.freshness).dhash)
                }
                var facts = retrieval.facts(
                    format: format, pixels: pixels, origin: origin, original: digest, own: own, now: now)
                facts.isMadeHere = ending.isMadeHere
                facts.arrival = ending.arrived.map {
                    OriginalArrival(at: $0, isStored: ending.original?.order != nil)
                }
                if let bytes { return try retrieval.cache.order(bytes, retrieval.target, facts) }
                guard case .file(let file) = ending.content else { return nil }
                return .keep(file.entry, as: retrieval.target, facts)
            }
            let ordered =
                if let book {
                    try book.order(for: retrieval.target, in: retrieval.cache, make: make)
                } else {
                    try make().map { (order: StoreOrder($0, to: retrieval.cache), isNew: true) }
                }
            guard let ordered else { return [] }
            ending.target = .store(ordered.order)
            return ordered.isNew ? [ordered.order] : []
        } catch {
            ending.target = .failed(error)
            return []
        }
    }

    /// Tells the run that a store of what its source has sent is under way.
    private func expect(_ key: EntryKey, of ending: ImageEnding) {
        if ending.facts.response != nil { ending.retrieval.options.answers?.expect(key, now: cache.now) }
    }

    /// Keeps a served stale file under another key, so that its path stays valid when the new image replaces it.
    private func keepServed(_ job: ImageJob) -> [StoreOrder] {
        guard let stale = job.served, !stale.isBorrowed else { return [] }
        let (entry, retrieval) = (stale.file.entry, job.retrieval)
        guard entry.key == retrieval.target else { return [] }
        var facts = retrieval.facts(
            format: entry.format, pixels: entry.object.pixels, origin: nil, original: nil, now: cache.now)
        facts.expiration = .date(entry.expires)
        facts.extending = .none
        let key = EntryKey(key: entry.key.key, identifier: EntryKey.replacedIdentifier)
        return [StoreOrder(.keep(entry, as: key, facts), to: stale.cache)]
    }

    /// Returns whether the original has been removed since it was found, or is about to be.
    func isRemoved(_ key: EntryKey, since removals: UInt64?, _ retrieval: Retrieval) -> Bool {
        if retrieval.originals.stores.isBeingRemoved(retrieval.original.key) { return true }
        guard let removals, removals != retrieval.originals.memory.removals else { return false }
        let found = Result { () throws(StorageError) in
            try retrieval.originals.alreadyOpen?.entry(for: key)
        }
        guard case .success(let entry) = found else { return false }
        return entry == nil
    }

    /// Delivers the image when its stores have ended.
    func conclude(_ ending: consuming ImageEnding, _ job: ImageJob, _ turn: inout Turn) {
        share(ending, job)
        if let asking = ending.confirmed { return conclude(ending, confirming: asking, job, &turn) }
        if let derivation = ending.derivation, !derivation.isAgain,
            ending.target?.isOutdated == true || ending.parts.contains(where: { $0.target?.isOutdated == true })
        {
            return deriveAgain(job, derivation, ending)
        }
        end(job, ending, &turn)
    }

    /// Notes the outcomes of the stores. Returns the file of the requested image, if it is stored.
    private func note(_ ending: inout ImageEnding) -> StoredFile? {
        var stored: StoredFile?
        let isOriginal = ending.retrieval.wantsOriginal
        let answers = ending.facts.response == nil ? nil : ending.retrieval.options.answers
        for (outcome, isImage) in [(ending.original?.outcome, isOriginal), (ending.target?.outcome, true)] {
            switch outcome {
            case .success(let file?)?:
                if ending.facts.storing.diskError == nil { ending.facts.storing.disk = .stored }
                if isImage { stored = file }
                answers?.confirm(file.entry.key)
            case .failure(let error)?: ending.facts.storing.disk = .failed(error)
            case .success(nil)?, nil: break
            }
        }
        return stored
    }

    /// Ends a job with the images that were made together.
    private func endParts(_ job: ImageJob, _ ending: ImageEnding, _ turn: inout Turn) {
        let results = ending.parts.map { part in
            let result = Result { () throws(KingfisherError) in try concluded(part) }
            if case .failure(let error) = result {
                part.retrieval.options.answers?.note(makingFailure: error, of: part.retrieval)
            }
            return result
        }
        job.state.withLock { $0.results = results }
        // The recipient reads all results; this one only ends the job.
        if let first = results.first { turn.end(job, first) }
    }

    /// Returns the result of an image whose stores have ended, and puts it into memory.
    private func concluded(_ ending: consuming ImageEnding) throws(KingfisherError) -> RetrieveImageResult {
        let stored = note(&ending)
        let result = try result(of: ending, stored: stored)
        remember(ending, result)
        if ending.arrived != nil { ending.retrieval.options.answers?.note(result, of: ending.retrieval) }
        // The image is stored, and the run that requires the remote ends.
        if let problem = ending.retrieval.originals.remotes?.presentProblem { throw problem }
        return result
    }

    private func end(_ job: ImageJob, _ ending: consuming ImageEnding, _ turn: inout Turn) {
        if !ending.parts.isEmpty { return endParts(job, ending, &turn) }
        // The recipient may already have its result, so that a failed store needs another way to be reported.
        if job.isDelivered {
            _ = note(&ending)
            if !job.isCancelled, let error = ending.facts.storing.diskError {
                ending.retrieval.cache.tellFailedStore(ending.retrieval.target, error)
            }
            return _ = job.deliver()
        }
        do throws(KingfisherError) {
            turn.end(job, .success(try concluded(ending)))
        } catch {
            turn.end(job, .failure(error))
        }
    }

    /// Makes the result, with the stored file open. The files of a batch stay closed unless they are exported. If
    /// another process has removed the file meanwhile, the result has the bytes that were stored.
    func result(
        of ending: ImageEnding, stored: StoredFile?
    ) throws(KingfisherError) -> RetrieveImageResult {
        let retrieval = ending.retrieval
        if let stored {
            if retrieval.options.batchesStores, !retrieval.options.opensBatchedFiles {
                return ending.result(.stored(stored))
            }
            if let file = try retrieval.cache.open(stored) { return ending.result(.file(file)) }
        }
        func result(_ bytes: [UInt8], _ format: ImageFormat, _ pixels: PixelFacts?) -> RetrieveImageResult {
            ending.result(.bytes(bytes, stored?.facts ?? ImageFacts(of: bytes, format, pixels), stored))
        }
        switch ending.content {
        case .file(let file): return ending.result(.file(file))
        case .bytes(let bytes, let format, let pixels): return result(try bytes.load(), format, pixels)
        case .processed(let made): return result(made.bytes, made.format, PixelFacts(made))
        case .failure(let error): throw error
        }
    }

    func remember(_ ending: ImageEnding, _ result: RetrieveImageResult) {
        let retrieval = ending.retrieval
        guard retrieval.usesMemory else { return }
        switch ending.content {
        case .processed(let made): remember(made.bytes, made.image, result, retrieval, ending.origin)
        case .bytes(let bytes, _, _):
            // A copy from another cache's original is only kept on disk.
            guard retrieval.wantsOriginal || ending.way == .remote,
                case .success(let loaded) = Result(catching: { () throws(KingfisherError) in
                    try bytes.load()
                })
            else { return }
            remember(loaded, nil, result, retrieval, ending.origin)
        case .file, .failure: break
        }
    }

    private func remember(
        _ bytes: [UInt8], _ image: Image?, _ result: RetrieveImageResult, _ retrieval: Retrieval,
        _ origin: OriginFacts?
    ) {
        retrieval.cache.storeInMemory(
            CachedImage(
                bytes: bytes, image: image, facts: result.facts, path: result.cachedPath,
                selection: retrieval.selection(of: origin)), retrieval.target,
            expiration: retrieval.memoryExpiration(by: origin, now: cache.now))
    }

    /// Makes the result again if its original was replaced meanwhile, because the result of the old one is not stored.
    private func deriveAgain(_ job: ImageJob, _ derivation: Derivation, _ ending: ImageEnding) {
        StoreWorkers.blocking.submit { [self] in
            Turn.run { turn in
                let retrieval = ending.retrieval
                do throws(KingfisherError) {
                    let newer = try retrieval.originals.firstFile(
                        of: [retrieval.original], strict: false, isTrusted: retrieval.isTrusted,
                        where: retrieval.accepts)
                    if let newer { newer.cache.noteHit(newer) }
                    guard let newer, newer.isFresh, newer.file.entry.object.digest != derivation.digest else {
                        return end(job, ending, &turn)
                    }
                    derive(
                        job,
                        Derivation(
                            file: newer.file, way: derivation.way, response: derivation.response,
                            problem: derivation.problem, otherwise: derivation.otherwise,
                            isHashed: retrieval.isHashed(newer), isAgain: true,
                            removals: newer.isBorrowed ? nil : newer.removals))
                } catch {
                    turn.end(job, .failure(error))
                }
            }
        }
    }
}

extension KingfisherManager {
    /// Removes a damaged image with this name and content from the caches, and retrieves it again.
    func repaired(_ asked: Retrieval, _ name: EntryKey, sha256: String?) async throws(KingfisherError) -> Image {
        try await asked.cache.removeDamaged(name, sha256: sha256)
        var options = asked.options
        options.expectedHash = asked.pin
        return try await retrieveImage(with: asked.source, options: options, isRepairable: false).decoded()
    }
}

extension ImageCache {
    /// Removes an image that cannot be decoded, unless another one has replaced it.
    func removeDamaged(_ key: EntryKey, sha256: String?) async throws(KingfisherError) {
        memory.remove(key)
        _ = try await blocking.run { [self] () throws(KingfisherError) in
            try removeDamagedNow(key) { $0.object.digest.hex == sha256 }
        }
    }

    /// Removes the image's entry on the calling thread if `isDamaged` returns true. Blocks.
    func removeDamagedNow(_ key: EntryKey, where isDamaged: (Entry) -> Bool) throws(KingfisherError) {
        _ = try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
            guard !storage.isReadOnly, let entry = try storage.entry(for: key), isDamaged(entry) else { return }
            _ = try storage.remove(entries: [entry], because: .damaged)
            // Other entries may share its file.
            storage.distrust(entry.object.digest)
        }
    }
}
