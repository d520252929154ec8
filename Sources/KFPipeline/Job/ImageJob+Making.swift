import KFImaging
import KFStorage
import KFTerms

/// Making the requested image, from a body or from a cached file.
extension ImageJob {
    /// Processes the body as requested, and orders the stores of original and result.
    func process(_ image: DownloadedImage, _ turn: inout Turn) {
        let before = self.retrieval
        let retrieval = (image.isKept ? before : before.unstored).placed(by: image.response)
        let asking = state.withLock { state in
            state.retrieval = retrieval
            return state.asking
        }
        let origin =
            image.entry.map { retrieval.origin(of: $0) }
            ?? image.response.map { OriginFacts($0, retrieval, now: retrieval.now) }
        var ending = ImageEnding(
            retrieval, asked: asked, image.way,
            .bytes(image.bytes, image.format, image.info.map(PixelFacts.init)), origin: origin)
        ending.flight = image.flight
        ending.arrived = retrieval.now
        ending.facts.isPersonal = image.isPersonal
        ending.facts.response = image.response
        ending.facts.attempts = attempts
        ending.facts.reason = FetchReason(before, asking)
        if retrieval.options.notesOriginal, image.isOriginal {
            ending.facts.original = bestEffort { try image.digest(stored: nil) }
            ending.facts.originalBytes = image.bytes.size
        }
        ending.facts.measures = image.originalMeasures
        ending.facts.check = image.findings.extent
        ending.facts.warn(image.findings.warnings)
        if makesVariants { return makeVariants(of: image, ending, &turn) }
        let delegate = downloader.delegate
        if retrieval.wantsOriginal || retrieval.keepsBytes(of: image.format) || !image.isOriginal {
            if let delegate { image.tell(delegate, retrieval.options.processing) }
            return store(ending, of: image, in: image.stores, &turn)
        }
        if let made = retrieval.sameResult(of: image) {
            return store(ImageEnding(madeBefore: made, ending), of: image, in: image.stores, &turn)
        }
        orderOriginal(of: image, &ending, &turn)
        guard enter(.making(Draft(ending))) else { return }
        ImageMaking.join(
            self, in: manager.downloader.work,
            MakeKey(
                original: .downloaded(ObjectIdentifier(image)), target: retrieval.target,
                cache: ObjectIdentifier(retrieval.cache)),
            ImageMaking.Order(original: .downloaded(image), box: retrieval.box, told: image.telling(delegate))
        ) { StoreWorkers.makers.add([$0]) }
    }

    /// Continues with the outcome of a processor.
    func made(_ result: Result<ProcessedImage, KingfisherError>, as made: MadeImage, _ turn: inout Turn) {
        guard case .making(let draft) = stage else { return }
        note(.image)
        switch result {
        case .success(let processed):
            var ending = draft.ending
            ending.content = .processed(processed)
            ending.facts.warn(processed.warnings)
            if processed.warnings.contains(where: \.isDamage) { ending.retrieval = ending.retrieval.unstored }
            store(ending, of: made.downloaded, in: made.stores, &turn)
        case .failure(let error):
            if case .processorError = error, let derivation = draft.ending.derivation,
                retrieval.isDamaged(derivation.file)
            {
                return undecodable(derivation, &turn)
            }
            retrieval.options.answers?.note(makingFailure: error, of: retrieval)
            fail(error, &turn)
        }
    }

    // MARK: Making images from cached files

    /// Makes the image from a cached file, or joins equal work in flight.
    func derive(_ derivation: Derivation) {
        let draft = Draft(ending(derivation))
        guard enter(.making(draft)) else { return }
        let (entry, retrieval) = (derivation.file.entry, draft.ending.retrieval)
        if makesVariants || retrieval.keepsBytes(of: entry.format) {
            let reading = WorkerTask { [self] turn in if !isCancelled { readFile(derivation, draft, &turn) } }
            return StoreWorkers.makers.add([reading])
        }
        ImageMaking.join(
            self, in: manager.downloader.work,
            MakeKey(
                original: .stored(entry.object.digest), target: retrieval.target,
                cache: ObjectIdentifier(retrieval.cache), limits: retrieval.options.decodeLimits),
            ImageMaking.Order(original: .file(derivation.file), box: retrieval.box)
        ) { StoreWorkers.makers.add([$0]) }
    }

    func ending(_ derivation: Derivation) -> ImageEnding {
        let retrieval = derivation.keeps ? self.retrieval : self.retrieval.unstored
        var ending = ImageEnding(
            retrieval, asked: asked, derivation.way, .file(derivation.file),
            origin: retrieval.isLocal ? nil : OriginFacts(derivation.file.entry))
        ending.derivation = derivation
        ending.isOfHashedBytes = derivation.isHashed
        if retrieval.options.notesOriginal, derivation.file.entry.key.isOriginal {
            (ending.facts.original, ending.facts.originalBytes) = (derivation.digest, derivation.file.size)
        }
        ending.facts.measures = derivation.file.entry.originalMeasures
        ending.facts.attempts = attempts
        ending.facts.response = derivation.response
        return ending
    }

    /// Reads the file, whose bytes are the requested image or the original of several.
    private func readFile(_ derivation: Derivation, _ draft: Draft, _ turn: inout Turn) {
        let entry = derivation.file.entry
        do throws(KingfisherError) {
            if makesVariants { return try makeVariants(of: derivation, draft.ending, &turn) }
            var ending = draft.ending
            ending.content = .bytes(.memory(try derivation.file.readAll()), entry.format, entry.object.pixels)
            store(ending, &turn)
        } catch {
            fail(error, &turn)
        }
    }

    /// Removes a cached file that cannot be decoded, and fetches it again if the job allows that.
    func undecodable(_ derivation: Derivation, _ turn: inout Turn) {
        let entry = derivation.file.entry
        // If the removal fails, the next look-up finds the file and fetches it again.
        bestEffort { try retrieval.originals.removeDamagedNow(entry.key) { $0.object == entry.object } }
        switch derivation.otherwise {
        case .failure(let error): fail(error, &turn)
        case .success(let asking): if enter(.fetching(asking)) { turn.jobs.append(self) }
        }
    }
}

extension Retrieval {
    /// Returns whether a file, which could not be processed, is no whole image. Blocks.
    fileprivate func isDamaged(_ file: CachedFile) -> Bool {
        let read = Result { () throws(KingfisherError) in try file.readAll() }
        guard case .success(let bytes) = read else { return true }
        let inspection = bytes.withUnsafeBytes { bytes in
            Result { () throws(KingfisherError) in try box.inspector.inspect(bytes) }
        }
        if case .failure(let error) = inspection { return error.isDamage }
        return false
    }
}

extension PixelFacts {
    package init(_ info: ImageInfo) { self.init(width: info.width, height: info.height, frames: info.frames) }

    init(_ made: ProcessedImage) {
        self.init(width: made.image.width, height: made.image.height, frames: made.frames)
    }
}
