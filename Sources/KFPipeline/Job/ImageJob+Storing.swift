import KFImaging
import KFStorage
import KFTerms

/// The last stages: ordering the stores, and delivering the image when they have ended.
extension ImageJob {
    /// Orders the stores of an image and of its original, delivers it first unless its recipient waits for them, and
    /// concludes the job when they have ended.
    func store(_ ending: consuming ImageEnding, _ turn: inout Turn) {
        let (found, isUrgent) = (ending.body.found, !ending.retrieval.options.batchesStores)
        // The images of a list are not delivered before they are stored, and are too many to be tracked.
        if isUrgent || found != nil || !ending.parts.isEmpty { ending.holdStores() }
        let isRemoved = found.map { ending.retrieval.isRemoved($0.key, since: $0.removals) } ?? false
        if isRemoved { ending.retrieval = ending.retrieval.unstored }
        deliverEarly(ending)
        turn.beginStores(urgent: isUrgent)
        if found == nil, ending.body.isOriginal { keepOriginal(&ending, &turn) }
        ending.keepTarget(&turn)
        for place in ending.parts.indices {
            if isRemoved { ending.parts[place].retrieval = ending.parts[place].retrieval.unstored }
            ending.parts[place].keepTarget(&turn)
        }
        wait(forStoresOf: consume ending, &turn)
    }

    /// Orders the store of an original before anything is made of it: it is committed as soon as it is whole.
    func orderOriginal(_ ending: inout ImageEnding, _ turn: inout Turn) {
        let isUrgent = !ending.retrieval.options.batchesStores
        if isUrgent { ending.holdStores() }
        turn.beginStores(urgent: isUrgent)
        keepOriginal(&ending, &turn)
    }

    private func keepOriginal(_ ending: inout ImageEnding, _ turn: inout Turn) {
        if ending.hasOrderedOriginal { return }
        ending.hasOrderedOriginal = true
        keepServed(&turn)
        ending.keepOriginal(&turn)
    }

    private func deliverEarly(_ ending: ImageEnding) {
        if ending.retrieval.options.waitForCache || isDelivered { return }
        do throws(KingfisherError) {
            if deliver(.success(try ending.early()), early: true) { recipient.ended([self]) }
        } catch {
            // The bytes may be readable once they have been stored.
        }
    }

    /// Keeps a served stale file under another key, so that its path stays valid when the new image replaces it.
    private func keepServed(_ turn: inout Turn) {
        guard let stale = served, !stale.isBorrowed, stale.file.entry.key == retrieval.target else { return }
        let (entry, retrieval) = (stale.file.entry, self.retrieval)
        var facts = retrieval.facts(
            format: entry.format, pixels: entry.object.pixels, origin: nil, original: nil, now: retrieval.now)
        facts.expiration = .date(entry.expires)
        facts.extending = .none
        let key = EntryKey(key: entry.key.key, identifier: EntryKey.replacedIdentifier)
        turn.store(StoreOrder(.keep(entry, as: key, facts), in: stale.cache))
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
    private func end(_ parts: [ImageEnding], _ turn: inout Turn) {
        let results = parts.map { part in
            let result = Result { () throws(KingfisherError) in try part.concluded() }
            if case .failure(let error) = result {
                part.retrieval.options.answers?.note(makingFailure: error, of: part.retrieval)
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
            if !isCancelled {
                let (retrieval, storing) = (draft.ending.retrieval, draft.ending.outcomes().storing)
                if let error = storing.diskError { retrieval.cache.tellFailedStore(retrieval.target, error) }
                if let error = storing.originalError { retrieval.originals.tellFailedStore(retrieval.original, error) }
            }
            return _ = deliver(nil)
        }
        do throws(KingfisherError) {
            turn.end(self, .success(try draft.ending.concluded()))
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
                    derive(derivation.again(of: newer))
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
