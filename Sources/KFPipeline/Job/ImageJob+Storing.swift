import KFImaging
import KFStorage
import KFTerms

/// The last stages: ordering the stores, and delivering the image when they have ended.
extension ImageJob {
    /// Orders the stores of an image and of its original `image`, delivers it first unless its recipient waits for them,
    /// and concludes the job when they have ended. `book` has the stores of other jobs for the same bytes.
    func store(
        _ ending: consuming ImageEnding, of image: DownloadedImage? = nil, in book: OrderBook? = nil, _ turn: inout Turn
    ) {
        let isUrgent = !ending.retrieval.options.batchesStores
        // The images of a list are not delivered before they are stored, and are too many to be tracked.
        if isUrgent || ending.derivation != nil { ending.holdStores() }
        if let derivation = ending.derivation,
            ending.retrieval.isRemoved(derivation.file.entry.key, since: derivation.removals)
        {
            ending.retrieval = ending.retrieval.unstored
        }
        deliverEarly(ending, turn)
        var group: [StoreOrder] = []
        if let image, image.isOriginal { group = keepOriginal(of: image, &ending) }
        group += ending.keepTarget(in: book) { ending throws(KingfisherError) in
            if case .bytes = ending.content { return image?.entry?.original }
            guard let image else { return ending.derivation?.digest }
            return try image.digest(stored: ending.original)
        }
        turn.store(group, urgent: isUrgent)
        wait(forStoresOf: ending, &turn)
    }

    /// Orders the store of an original before anything is made of it: it is committed as soon as it is whole.
    func orderOriginal(of image: DownloadedImage, _ ending: inout ImageEnding, _ turn: inout Turn) {
        let isUrgent = !ending.retrieval.options.batchesStores
        if isUrgent { ending.holdStores() }
        turn.store(keepOriginal(of: image, &ending), urgent: isUrgent)
    }

    private func deliverEarly(_ ending: ImageEnding, _ turn: Turn) {
        if ending.retrieval.options.waitForCache || isDelivered { return }
        do throws(KingfisherError) {
            turn.deliver(early: self, try Draft(ending).early())
        } catch {
            // The bytes may be readable once they have been stored.
        }
    }

    /// Orders the store of the original, once for all jobs that share it. Returns the new stores.
    private func keepOriginal(of image: DownloadedImage, _ ending: inout ImageEnding) -> [StoreOrder] {
        if ending.hasOrderedOriginal { return [] }
        ending.hasOrderedOriginal = true
        let retrieval = ending.retrieval
        var group = keepServed()
        guard retrieval.keepsOriginal, image.isKept, retrieval.mayStore(ending.origin, now: retrieval.now) else {
            return group
        }
        do throws(KingfisherError) {
            let origin = ending.origin
            ending.expectStore(of: retrieval.original)
            let ordered = try image.stores.order(for: retrieval.original, in: retrieval.originals) {
                () throws(KingfisherError) in
                try retrieval.originals.order(
                    image.bytes, retrieval.original,
                    retrieval.facts(
                        format: image.format, pixels: image.info.map(PixelFacts.init), origin: origin, original: nil,
                        now: retrieval.now), digest: image.digestSoFar)
            }
            guard let ordered else { return group }
            ending.original = ordered.order
            if ordered.isNew { group.append(ordered.order) }
            // A job that also keeps the image in memory needs its bytes there.
            guard let file = ordered.order.change?.staged, !retrieval.usesMemory else { return group }
            if ordered.isNew { image.move(to: file) }
            if case .bytes(_, let format, let pixels) = ending.content {
                ending.content = .bytes(.staged(file), format, pixels)
            }
        } catch {
            // The image is still delivered, and its result reports the error.
            ending.original = StoreOrder(failed: error, in: retrieval.originals)
        }
        return group
    }

    /// Keeps a served stale file under another key, so that its path stays valid when the new image replaces it.
    private func keepServed() -> [StoreOrder] {
        guard let stale = served, !stale.isBorrowed else { return [] }
        let (entry, retrieval) = (stale.file.entry, self.retrieval)
        guard entry.key == retrieval.target else { return [] }
        var facts = retrieval.facts(
            format: entry.format, pixels: entry.object.pixels, origin: nil, original: nil, now: retrieval.now)
        facts.expiration = .date(entry.expires)
        facts.extending = .none
        let key = EntryKey(key: entry.key.key, identifier: EntryKey.replacedIdentifier)
        return [StoreOrder(.keep(entry, as: key, facts), to: stale.cache)]
    }

    /// Delivers the image when its stores have ended.
    func conclude(_ draft: Draft, _ turn: inout Turn) {
        share(draft)
        if let asking = draft.ending.confirmed { return conclude(draft, confirming: asking, &turn) }
        if let derivation = draft.ending.derivation, !derivation.isAgain, draft.isOutdated {
            return deriveAgain(derivation, draft)
        }
        end(draft, &turn)
    }

    /// Ends a job with the images that were made together.
    private func end(_ parts: [Draft], _ turn: inout Turn) {
        let results = parts.map { part in
            let result = Result { () throws(KingfisherError) in try part.concluded() }
            if case .failure(let error) = result {
                let retrieval = part.ending.retrieval
                retrieval.options.answers?.note(makingFailure: error, of: retrieval)
            }
            return result
        }
        state.withLock { $0.results = results }
        // The recipient reads all results; this one only ends the job.
        if let first = results.first { turn.end(self, first) }
    }

    private func end(_ draft: Draft, _ turn: inout Turn) {
        if !draft.ending.parts.isEmpty { return end(draft.ending.parts, &turn) }
        // The recipient may already have its result, so that a failed store needs another way to be reported.
        if isDelivered {
            if !isCancelled, let error = draft.outcomes().storing.diskError {
                draft.ending.retrieval.cache.tellFailedStore(draft.ending.retrieval.target, error)
            }
            return _ = deliver()
        }
        do throws(KingfisherError) {
            turn.end(self, .success(try draft.concluded()))
        } catch {
            turn.end(self, .failure(error))
        }
    }

    /// Makes the result again if its original was replaced meanwhile, because the result of the old one is not stored.
    private func deriveAgain(_ derivation: Derivation, _ draft: Draft) {
        StoreWorkers.blocking.submit { [self] in
            Turn.run { turn in
                let retrieval = draft.ending.retrieval
                do throws(KingfisherError) {
                    let newer = try retrieval.originals.firstFile(
                        of: [retrieval.original], strict: false, isTrusted: retrieval.isTrusted,
                        where: retrieval.accepts)
                    if let newer { newer.cache.noteHit(newer) }
                    guard let newer, newer.isFresh, newer.file.entry.object.digest != derivation.digest else {
                        return end(draft, &turn)
                    }
                    derive(Derivation(newer, derivation.way, for: retrieval, after: derivation))
                } catch {
                    turn.end(self, .failure(error))
                }
            }
        }
    }
}

extension Retrieval {
    /// Returns whether the original has been removed since it was found, or is about to be.
    func isRemoved(_ key: EntryKey, since removals: UInt64?) -> Bool {
        if originals.stores.isBeingRemoved(original.key) { return true }
        guard let removals, removals != originals.memory.removals else { return false }
        let found = Result { () throws(StorageError) in
            try originals.alreadyOpen?.entry(for: key)
        }
        guard case .success(let entry) = found else { return false }
        return entry == nil
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
