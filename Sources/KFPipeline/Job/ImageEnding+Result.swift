import KFImaging
import KFStorage
import KFTerms

/// Storing the requested image, and its result.
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
            if retrieval.usesMemory { facts.storing.memory = .stored }
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
                facts.arrival = arrived.map { OriginalArrival(at: $0, isStored: original?.order != nil) }
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
            target = .store(ordered.order)
            return ordered.isNew ? [ordered.order] : []
        } catch {
            target = .failed(error)
            return []
        }
    }

    /// Tells the run that a store of what its source has sent is under way.
    func expectStore(of key: EntryKey) {
        if facts.response != nil { retrieval.options.answers?.expect(key, now: retrieval.now) }
    }

    /// Notes the outcomes of the stores. Returns the file of the requested image, if it is stored.
    mutating func noteOutcomes() -> StoredFile? {
        var stored: StoredFile?
        let isOriginal = retrieval.wantsOriginal
        let answers = facts.response == nil ? nil : retrieval.options.answers
        for (outcome, isImage) in [(original?.outcome, isOriginal), (target?.outcome, true)] {
            switch outcome {
            case .success(let file?)?:
                if facts.storing.diskError == nil { facts.storing.disk = .stored }
                if isImage { stored = file }
                answers?.confirm(file.entry.key)
            case .failure(let error)?: facts.storing.disk = .failed(error)
            case .success(nil)?, nil: break
            }
        }
        return stored
    }

    /// Returns the result of an image whose stores have ended, and puts it into memory.
    consuming func concluded() throws(KingfisherError) -> RetrieveImageResult {
        let stored = noteOutcomes()
        let result = try result(stored: stored)
        remember(result)
        if arrived != nil { retrieval.options.answers?.note(result, of: retrieval) }
        // The image is stored, and the run that requires the remote ends.
        if let problem = retrieval.originals.remotes?.presentProblem { throw problem }
        return result
    }

    /// Makes the result, with the stored file open. The files of a batch stay closed unless they are exported. If
    /// another process has removed the file meanwhile, the result has the bytes that were stored.
    func result(stored: StoredFile?) throws(KingfisherError) -> RetrieveImageResult {
        if let stored {
            if retrieval.options.batchesStores, !retrieval.options.opensBatchedFiles {
                return result(.stored(stored))
            }
            if let file = try retrieval.cache.open(stored) { return result(.file(file)) }
        }
        func delivered(_ bytes: [UInt8], _ format: ImageFormat, _ pixels: PixelFacts?) -> RetrieveImageResult {
            result(.bytes(bytes, stored?.facts ?? ImageFacts(of: bytes, format, pixels), stored))
        }
        switch content {
        case .file(let file): return result(.file(file))
        case .bytes(let bytes, let format, let pixels): return delivered(try bytes.load(), format, pixels)
        case .processed(let made): return delivered(made.bytes, made.format, PixelFacts(made))
        case .failure(let error): throw error
        }
    }

    /// Puts the image into memory, if the options use it.
    func remember(_ result: RetrieveImageResult) {
        guard retrieval.usesMemory else { return }
        switch content {
        case .processed(let made): remember(made.bytes, made.image, result)
        case .bytes(let bytes, _, _):
            // A copy from another cache's original is only kept on disk.
            guard retrieval.wantsOriginal || way == .remote,
                case .success(let loaded) = Result(catching: { () throws(KingfisherError) in
                    try bytes.load()
                })
            else { return }
            remember(loaded, nil, result)
        case .file, .failure: break
        }
    }

    private func remember(_ bytes: [UInt8], _ image: Image?, _ result: RetrieveImageResult) {
        retrieval.cache.storeInMemory(
            CachedImage(
                bytes: bytes, image: image, facts: result.facts, path: result.cachedPath,
                selection: retrieval.selection(of: origin)), retrieval.target,
            expiration: retrieval.memoryExpiration(by: origin, now: retrieval.now))
    }
}
