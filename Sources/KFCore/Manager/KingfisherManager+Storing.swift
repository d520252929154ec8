import KFImaging
import KFStorage

/// The last stages: ordering the stores, and delivering the image when they have ended.
extension KingfisherManager {
    /// Orders the store of the original, once for all jobs that share it.
    func keepOriginal(
        _ image: DownloadedImage, _ job: ImageJob, _ ending: ImageEnding, _ group: inout [StoreOrder]
    ) {
        let retrieval = ending.retrieval
        keepServed(job, &group)
        guard retrieval.keepsOriginal, !image.isPersonal, retrieval.mayStore(ending.origin, now: cache.now) else {
            return
        }
        do throws(KingfisherError) {
            let origin = ending.origin
            let ordered = try image.orders.order(for: retrieval.original, in: retrieval.originals) {
                () throws(KingfisherError) in
                try retrieval.originals.order(
                    image.bytes, retrieval.original,
                    retrieval.facts(
                        format: image.format, pixels: image.info.map(PixelFacts.init), origin: origin, original: nil,
                        now: cache.now))
            }
            guard let ordered else { return }
            ending.originalOrder = ordered.order
            if ordered.isNew { group.append(ordered.order) }
            // A job that also keeps the image in memory needs its bytes there.
            guard let file = ordered.order.change.staged, !retrieval.usesMemory else { return }
            if ordered.isNew { image.move(to: file) }
            if case .bytes(_, let format, let pixels) = ending.content {
                ending.content = .bytes(.staged(file), format, pixels)
            }
        } catch {
            // The image is still delivered, and its result reports the error.
            ending.originalProblem = error
        }
    }

    /// Orders the store of the requested image. `book` has the orders of other jobs for the same bytes.
    func keepTarget(
        _ bytes: PendingBytes, _ retrieval: Retrieval, _ ending: ImageEnding, _ book: OrderBook?,
        _ group: inout [StoreOrder], facts: (Timestamp) -> EntryFacts
    ) {
        guard retrieval.keepsTarget, retrieval.mayStore(ending.origin, now: cache.now) else { return }
        do throws(KingfisherError) {
            func make() throws(KingfisherError) -> Store? {
                try retrieval.cache.order(bytes, retrieval.target, facts(cache.now))
            }
            if let book {
                guard let ordered = try book.order(for: retrieval.target, in: retrieval.cache, make: make) else {
                    return
                }
                ending.targetOrder = ordered.order
                if ordered.isNew { group.append(ordered.order) }
            } else if let change = try make() {
                let order = StoreOrder(change)
                ending.targetOrder = order
                group.append(order)
            }
        } catch {
            ending.targetProblem = error
        }
    }

    /// Orders the store of a processed image. `original` returns the digest of the bytes that it was made from.
    func keepMade(
        _ made: ProcessedImage, _ retrieval: Retrieval, _ ending: ImageEnding, _ book: OrderBook?,
        _ group: inout [StoreOrder], original: (ImageEnding) throws(KingfisherError) -> Digest
    ) {
        if retrieval.usesMemory { ending.facts.storing.memory = .stored }
        let origin = ending.origin
        let digest: Digest
        do { digest = try original(ending) } catch {
            ending.targetProblem = error
            return
        }
        keepTarget(.memory(made.bytes), retrieval, ending, book, &group) { now in
            retrieval.facts(
                format: made.format, pixels: PixelFacts(made), origin: origin, original: digest, now: now)
        }
    }

    /// Keeps a served stale file under another key, so that its path stays valid when the new image replaces it.
    private func keepServed(_ job: ImageJob, _ group: inout [StoreOrder]) {
        guard let stale = job.served, !stale.isBorrowed else { return }
        let (entry, retrieval) = (stale.file.entry, job.retrieval)
        guard entry.key == retrieval.target else { return }
        var facts = retrieval.facts(
            format: entry.format, pixels: entry.object.pixels, origin: nil, original: nil, now: cache.now)
        facts.expiration = .date(entry.expires)
        facts.extending = .none
        let key = EntryKey(key: entry.key.key, identifier: EntryKey.replacedIdentifier)
        group.append(StoreOrder(.keep(entry, as: key, facts)))
    }

    /// Submits the orders. The job continues when they have ended.
    func submit(_ group: [StoreOrder], _ job: ImageJob, _ retrieval: Retrieval, _ batch: StoreBatch) {
        let urgent = !retrieval.options.batchesStores
        if retrieval.cache === retrieval.originals {
            batch.add(group, to: retrieval.cache, urgent: urgent)
        } else {
            let original = job.ending?.originalOrder
            batch.add(group.filter { $0 === original }, to: retrieval.originals, urgent: urgent)
            batch.add(group.filter { $0 !== original }, to: retrieval.cache, urgent: urgent)
        }
        job.wait(for: job.ending?.orders ?? [], &batch.deliveries)
    }

    /// Starts the storing of an image, and delivers it first unless its recipient waits for the stores.
    func beginStoring(_ job: ImageJob, _ ending: ImageEnding, _ deliveries: inout Deliveries) {
        // The images of a list are not delivered before they are stored, and are too many to be tracked.
        if !ending.retrieval.options.batchesStores || job.derivation != nil { ending.holdStores() }
        if let derivation = job.derivation,
            isRemoved(derivation.file.entry.key, since: derivation.removals, ending.retrieval)
        {
            ending.retrieval = ending.retrieval.unstored
        }
        guard job.isEarly, !job.hasEnded else { return }
        do throws(KingfisherError) {
            let result = try result(of: ending, stored: nil)
            remember(ending, result)
            deliveries.add(job, .success(result))
            deliveries.flush()
        } catch {
            // The bytes may be readable once they have been stored.
        }
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

    /// Delivers the image when its orders have ended.
    func conclude(_ job: ImageJob, _ deliveries: inout Deliveries) {
        guard let ending = job.ending else { return }
        job.ending = nil
        share(ending, job)
        if let renewal = ending.renewal { return conclude(renewal: renewal, ending, job, &deliveries) }
        if !ending.parts.isEmpty { return concludeParts(ending, job, &deliveries) }
        let stored = note(ending)
        if stored == nil, let derivation = job.derivation, ending.retrieval.keepsTarget, !derivation.isAgain,
            ending.targetOrder != nil, ending.facts.storing.diskError == nil
        {
            return deriveAgain(job, derivation, ending)
        }
        end(job, ending, stored, &deliveries)
    }

    /// Notes the outcomes of the orders. Returns the file of the requested image, if it is stored.
    private func note(_ ending: ImageEnding) -> StoredFile? {
        var stored: StoredFile?
        let isOriginal = ending.retrieval.wantsOriginal
        for (order, problem, isImage) in [
            (ending.originalOrder, ending.originalProblem, isOriginal),
            (ending.targetOrder, ending.targetProblem, true),
        ] {
            switch problem.map({ .failure($0) }) ?? order?.outcome {
            case .success(let file?)?:
                if ending.facts.storing.diskError == nil { ending.facts.storing.disk = .stored }
                if isImage { stored = file }
            case .failure(let error)?: ending.facts.storing.disk = .failed(error)
            case .success(nil)?, nil: break
            }
        }
        return stored
    }

    /// Ends a job with the images that were made together.
    private func concludeParts(_ ending: ImageEnding, _ job: ImageJob, _ deliveries: inout Deliveries) {
        job.results = ending.parts.map { part in
            do throws(KingfisherError) {
                let stored = note(part)
                let result = try result(of: part, stored: stored)
                remember(part, result)
                return .success(result)
            } catch {
                return .failure(error)
            }
        }
        // The recipient of the job reads all results; this one only ends the job.
        if let first = job.results.first { deliveries.add(job, first) }
    }

    private func end(
        _ job: ImageJob, _ ending: ImageEnding, _ stored: StoredFile?, _ deliveries: inout Deliveries
    ) {
        do throws(KingfisherError) {
            // The recipient already has its result, so that a failed store needs another way to be reported.
            if job.hasEnded {
                if !job.isCancelled, let error = ending.facts.storing.diskError {
                    ending.retrieval.cache.tellFailedStore(ending.retrieval.target, error)
                }
                return
            }
            let result = try result(of: ending, stored: stored)
            remember(ending, result)
            // The image is stored, and the run that requires the remote ends.
            if let problem = ending.retrieval.originals.remotes?.presentProblem { throw problem }
            deliveries.add(job, .success(result))
        } catch {
            deliveries.add(job, .failure(error))
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
            var deliveries = Deliveries()
            let retrieval = ending.retrieval
            do throws(KingfisherError) {
                let newer = try retrieval.originals.firstFile(
                    of: [retrieval.original], strict: false, where: retrieval.accepts)
                if let newer { newer.cache.noteHit(newer) }
                let used = derivation.file.entry.object.digest
                if let newer, newer.isFresh, newer.file.entry.object.digest != used {
                    var again = Derivation(
                        file: newer.file, way: derivation.way, response: derivation.response,
                        problem: derivation.problem, otherwise: derivation.otherwise)
                    again.isAgain = true
                    again.removals = newer.isBorrowed ? nil : newer.removals
                    derive(job, again)
                } else {
                    end(job, ending, nil, &deliveries)
                }
            } catch {
                deliveries.add(job, .failure(error))
            }
            deliveries.flush()
        }
    }
}

extension KingfisherManager {
    /// Removes a damaged image with this name and content from the caches, and retrieves it again.
    func repaired(_ asked: Retrieval, _ name: EntryKey, sha256: String?) async throws(KingfisherError) -> Image {
        try await asked.cache.removeDamaged(name, sha256: sha256)
        return try await retrieveImage(
            with: asked.source, options: asked.options, isRepairable: false
        ).decoded()
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
            _ = try storage.remove(entries: [entry])
            // Other entries may share its file.
            storage.distrust(entry.object.digest)
        }
    }
}
