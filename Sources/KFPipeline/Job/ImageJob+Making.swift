import KFImaging
import KFStorage
import KFTerms

/// Making the requested image, or several, from a body.
extension ImageJob {
    /// Processes the body as requested, and keeps original and result.
    func process(_ body: Body, _ turn: inout Turn) {
        let before = self.retrieval
        let retrieval = (body.isKept ? before : before.unstored).placed(by: body.response)
        let asking = state.withLock { state in
            state.retrieval = retrieval
            return state.asking
        }
        let origin =
            body.entry.map { retrieval.origin(of: $0) }
            ?? body.response.map { OriginFacts($0, retrieval, now: retrieval.now) }
        var facts = Outcome.Facts(response: body.response, attempts: attempts)
        facts.reason = FetchReason(before, asking)
        if retrieval.options.notesOriginal, body.isOriginal {
            facts.original = bestEffort { try body.digest() }
            facts.originalBytes = body.bytes.size
        }
        facts.measures = body.originalMeasures
        if let findings = body.findings {
            facts.check = findings.extent
            facts.warn(findings.warnings)
        }
        // A constant is handed on; a variable would be copied, with eight retains.
        let ending = ImageEnding(
            retrieval, asked: asked, body.way, .body, of: body, origin: origin, facts: facts, arrived: retrieval.now)
        let isWhole = retrieval.wantsOriginal || retrieval.keepsBytes(of: body.format) || !body.isOriginal
        if let delegate = downloader.delegate, !wantsPixels,
            makesVariants ? variants.contains(where: { $0.keepsBytes(of: body.format) }) : isWhole
        {
            body.tell(delegate, retrieval.options.processing)
        }
        if !makesVariants, !wantsPixels {
            if isWhole { return store(ending, &turn) }
            if let made = retrieval.sameResult(of: body) {
                return store(
                    ImageEnding(retrieval, asked: asked, .disk, .file(made), of: body, origin: origin, facts: facts),
                    &turn)
            }
        }
        var whole = ending
        orderOriginal(&whole, &turn)
        if makesVariants { makeVariants(whole, &turn) } else { make(whole) }
    }

    /// Lets a worker make the images of a job that are still missing.
    private func make(_ ending: consuming ImageEnding) {
        let draft = Draft(consume ending)
        guard enter(.making(draft)) else { return }
        let parts = draft.ending.parts.filter(\.isMissing)
        let forms = parts.isEmpty ? [draft.ending.retrieval] : parts.map(\.retrieval)
        Making.join(self, draft.ending.body, forms) { StoreWorkers.makers.add([$0]) }
    }

    /// Continues with the outcomes of processors.
    func made(_ images: [Result<ProcessedImage, KingfisherError>], of body: Body, _ turn: inout Turn) {
        guard case .making(let draft) = stage else { return }
        // One of several has been noted as soon as it was made.
        for _ in min(steps.images, images.count)..<images.count { note(.image) }
        var ending = draft.ending
        // A body of the same cached bytes may have been made into the same images before.
        ending.body = body
        if makesVariants {
            var next = images.makeIterator()
            for place in ending.parts.indices {
                ending.parts[place].body = body
                if ending.parts[place].isMissing, let image = next.next() { ending.parts[place].note(image) }
            }
            return store(ending, &turn)
        }
        switch images[0] {
        case .success(let image) where wantsPixels: end(image, of: body, ending, &turn)
        case .success:
            ending.note(images[0])
            store(ending, &turn)
        case .failure(let error):
            if case .processorError = error, let derivation = ending.derivation,
                retrieval.isDamaged(derivation.found.file)
            {
                return undecodable(derivation, &turn)
            }
            retrieval.options.answers?.note(makingFailure: error, of: retrieval)
            fail(error, &turn)
        }
    }

    /// Ends a job that only wants pixels, with the bytes that they are made from and the URL that was requested.
    private func end(_ made: ProcessedImage, of body: Body, _ ending: ImageEnding, _ turn: inout Turn) {
        do throws(KingfisherError) {
            let facts = ImageFacts(format: made.format, PixelFacts(made), bytes: body.bytes.size, digest: nil)
            let image = CachedImage(bytes: try body.bytes.load(), image: made.image, facts: facts, path: nil)
            let source = body.url.map { Source.network(ImageResource(downloadURL: $0)) } ?? retrieval.source
            turn.end(
                self,
                .success(
                    RetrieveImageResult(
                        Retrieval(source, retrieval.box, manager.cache), asked: asked, ending.way,
                        .memory(image, manager.cache), ending.facts)))
        } catch {
            fail(error, &turn)
        }
    }

    // MARK: Making images from cached files

    /// Makes the image from a cached file, or joins equal work in flight.
    func derive(_ derivation: Derivation) {
        let ending = ending(derivation)
        guard makesVariants || ending.retrieval.keepsBytes(of: ending.body.format) else { return make(ending) }
        let draft = Draft(ending)
        guard enter(.making(draft)) else { return }
        let reading = WorkerTask { [self] turn in
            if isCancelled { return }
            var ending = draft.ending
            if makesVariants { return makeVariants(of: derivation, ending, &turn) }
            ending.content = .body
            store(ending, &turn)
        }
        StoreWorkers.makers.add([reading])
    }

    private func ending(_ derivation: Derivation) -> ImageEnding {
        let (found, file) = (derivation.found, derivation.found.file)
        let retrieval = derivation.keeps ? self.retrieval : self.retrieval.unstored
        // Only removals of the original count, where it can be removed.
        let isOriginal = file.entry.key.isOriginal && found.cache === retrieval.originals && !found.isBorrowed
        let body = Body(
            .cached(file), file.entry.format, file.entry.object.pixels, derivation.digest,
            found: (file.entry.key, isOriginal ? found.removals : nil))
        var ending = ImageEnding(
            retrieval, asked: asked, derivation.way, .file(file), of: body,
            origin: retrieval.isLocal ? nil : derivation.origin ?? OriginFacts(file.entry),
            facts: Outcome.Facts(response: derivation.response, attempts: attempts))
        ending.derivation = derivation
        if retrieval.options.notesOriginal, file.entry.key.isOriginal {
            (ending.facts.original, ending.facts.originalBytes) = (derivation.digest, file.size)
        }
        ending.facts.measures = file.entry.originalMeasures
        return ending
    }

    // MARK: Making several images

    /// Makes the images of a job from an original in memory.
    func makeVariants(of original: RetrieveImageResult) {
        let retrieval = self.retrieval
        let removals = retrieval.originals.memory.removals
        let making = WorkerTask { [self] turn in
            if isCancelled { return }
            do throws(KingfisherError) {
                let bytes = try original.loadData()
                let body = Body(
                    .memory(bytes), original.facts.format, nil, bytes.withUnsafeBytes { SHA256.hash($0) },
                    found: (retrieval.original, removals))
                // The parts have the images; the ending of them all has none.
                var ending = ImageEnding(
                    retrieval, asked: asked, .derived, .unmade, of: body, origin: original.origin(for: retrieval),
                    facts: Outcome.Facts(attempts: attempts))
                if retrieval.options.notesOriginal, let known = original.original {
                    (ending.facts.original, ending.facts.originalBytes) = (
                        known.digest, known.bytes ?? original.facts.bytes
                    )
                }
                ending.facts.measures = original.originalMeasures
                makeVariants(ending, &turn)
            } catch {
                fail(error, &turn)
            }
        }
        StoreWorkers.makers.add([making])
    }

    /// Makes the images of a job from a cached file. Those that a server has confirmed with it are there already.
    private func makeVariants(of derivation: Derivation, _ ending: ImageEnding, _ turn: inout Turn) {
        let entry = derivation.found.entry
        do throws(KingfisherError) {
            let present = try variants.map { variant throws(KingfisherError) -> ImageEnding.Content? in
                guard derivation.way == .revalidated, let own = try variant.ownFile(),
                    own.entry.originalContent?.digest == entry.originalContent?.digest
                else { return nil }
                return .file(own.file)
            }
            if !entry.key.isOriginal, present.contains(where: { $0 == nil }) {
                // The original is not cached, and an image made from it has gone meanwhile.
                if enter(.fetching(Asking())) { turn.jobs.append(self) }
                return
            }
            makeVariants(ending, having: present, &turn)
        } catch {
            fail(error, &turn)
        }
    }

    /// Serves the images of a job whose origin is unavailable. Each is served if it may be although it is expired, or else
    /// made from such an original.
    func serveVariants(_ stale: FoundFile, _ error: KingfisherError) {
        let serving = WorkerTask { [self] turn in
            if isCancelled { return }
            func serves(_ file: FoundFile) -> Bool {
                let retrieval = self.retrieval
                return retrieval.mayServeStale(file.entry, now: retrieval.now)
                    && retrieval.refusal(of: file.entry.originalMeasures) == nil
            }
            do throws(KingfisherError) {
                let isOfUse = stale.entry.key.isOriginal && serves(stale)
                var fails = true
                let contents = try variants.map { variant throws(KingfisherError) -> ImageEnding.Content? in
                    let own = try variant.ownFile()
                    guard own.map(serves) ?? isOfUse else { return .failure(error) }
                    fails = false
                    return own.map { .file($0.file) }
                }
                if fails { return fail(error, &turn) }
                makeVariants(ending(Derivation(stale, .stale, keeps: false)), having: contents, &turn)
            } catch {
                fail(error, &turn)
            }
        }
        StoreWorkers.makers.add([serving])
    }

    /// Makes the images of a job that are neither in `present` nor known nor the unchanged bytes. None of those in `present`
    /// is stored again.
    private func makeVariants(
        _ ending: consuming ImageEnding, having present: [ImageEnding.Content?] = [], _ turn: inout Turn
    ) {
        var ending = ending
        let (variants, asked, body) = (self.variants, askedVariants, ending.body)
        let isKept = ending.derivation?.keeps ?? body.isKept
        let parts = variants.indices.map { index in
            let given = present.isEmpty ? nil : present[index]
            let variant = variants[index]
            var part = ImageEnding(
                isKept && given == nil ? variant : variant.unstored, asked: asked[index], ending.way,
                given ?? .unmade, of: body, origin: ending.origin, facts: ending.facts, arrived: ending.arrived)
            (part.original, part.derivation) = (ending.original, ending.derivation)
            if given != nil { return part }
            if let known = variant.sameResult(of: body) {
                (part.content, part.way) = (.file(known), .disk)
            } else if variant.wantsOriginal || variant.keepsBytes(of: body.format) {
                if case .file = ending.content { part.content = ending.content } else { part.content = .body }
            }
            return part
        }
        ending.parts = parts
        if parts.contains(where: \.isMissing) { make(ending) } else { store(ending, &turn) }
    }

    // MARK: Damaged files

    /// Removes a cached file that cannot be decoded, and fetches it again if the job allows that.
    func undecodable(_ derivation: Derivation, _ turn: inout Turn) {
        let entry = derivation.found.entry
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
