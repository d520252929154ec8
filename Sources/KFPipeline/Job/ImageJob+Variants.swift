import KFImaging
import KFStorage
import KFTerms

/// The bytes that several images are made from.
struct VariantOriginal: Sendable {
    let bytes: [UInt8]
    let format: ImageFormat
    let pixels: PixelFacts?
    let digest: Digest
    /// Whether the images may be stored.
    var isStored = true
    /// The count of removals of the original's cache when it was found; nil for one that was just fetched.
    var removals: UInt64?

    /// Reads a cached file. Blocks.
    init(_ derivation: Derivation) throws(KingfisherError) {
        let entry = derivation.file.entry
        bytes = try derivation.file.readAll()
        (format, pixels, digest) = (entry.format, entry.object.pixels, entry.object.digest)
        (isStored, removals) = (derivation.keeps, derivation.removals)
    }

    /// Takes the bytes of a body whose store has been ordered.
    init(_ image: DownloadedImage, stored: StoreOrder?) throws(KingfisherError) {
        bytes = try image.bytes.load()
        (format, pixels) = (image.format, image.info.map(PixelFacts.init))
        digest = try image.digest(stored: stored)
        isStored = image.isKept
    }

    /// Takes the bytes of an image in memory.
    init(_ image: RetrieveImageResult, removals: UInt64) throws(KingfisherError) {
        bytes = try image.loadData()
        format = image.facts.format
        pixels = nil
        digest = bytes.withUnsafeBytes { SHA256.hash($0) }
        self.removals = removals
    }
}

/// Making several images from the same bytes.
extension ImageJob {
    /// Makes the images of a job from a body, whose own store is ordered first.
    func makeVariants(of image: DownloadedImage, _ ending: ImageEnding, _ turn: inout Turn) {
        var ending = ending
        orderOriginal(of: image, &ending, &turn)
        if let delegate = downloader.delegate, variants.contains(where: { $0.keepsBytes(of: image.format) }) {
            image.tell(delegate, ending.retrieval.options.processing)
        }
        makeVariants(ending, in: image.stores) { [stored = ending.original] () throws(KingfisherError) in
            try VariantOriginal(image, stored: stored)
        }
    }

    /// Makes the images of a job from an original in memory.
    func makeVariants(of original: RetrieveImageResult) {
        let retrieval = self.retrieval
        let removals = retrieval.originals.memory.removals
        // The parts have the images; the ending of them all has none.
        var ending = ImageEnding(
            retrieval, asked: asked, .derived, .failure(retrieval.absence(nil, now: retrieval.now)),
            origin: original.origin(for: retrieval))
        ending.facts.attempts = attempts
        if retrieval.options.notesOriginal, let known = original.original {
            (ending.facts.original, ending.facts.originalBytes) = (known.digest, known.bytes ?? original.facts.bytes)
        }
        ending.facts.measures = original.originalMeasures
        makeVariants(ending, in: nil) { () throws(KingfisherError) in
            try VariantOriginal(original, removals: removals)
        }
    }

    /// Makes the images of a job on a maker's thread. `book` stays open until their stores are ordered.
    private func makeVariants(
        _ ending: ImageEnding, in book: OrderBook?,
        of original: @escaping @Sendable () throws(KingfisherError) -> VariantOriginal
    ) {
        let draft = Draft(ending)
        guard enter(.making(draft)) else { return }
        book?.hold()
        let making = WorkerTask { [self] turn in
            defer { book?.release() }
            if isCancelled { return }
            do throws(KingfisherError) {
                let none = variants.map { _ in ImageEnding.Content?.none }
                conclude(none, of: try original(), draft.ending, in: book, &turn)
            } catch {
                fail(error, &turn)
            }
        }
        StoreWorkers.makers.add([making])
    }

    /// Makes the images of a job from a cached file. Those that a server has confirmed with it are there already.
    func makeVariants(
        of derivation: Derivation, _ ending: ImageEnding, _ turn: inout Turn
    ) throws(KingfisherError) {
        let entry = derivation.file.entry
        let isConfirmed = derivation.way == .revalidated
        let contents = try variants.map { variant throws(KingfisherError) -> ImageEnding.Content? in
            guard isConfirmed, let own = try variant.ownFile(),
                own.entry.originalContent?.digest == entry.originalContent?.digest
            else { return nil }
            return .file(own.file)
        }
        let isWhole = !contents.contains { $0 == nil }
        if !isWhole, !entry.key.isOriginal {
            // The original is not cached, and an image made from it has gone meanwhile.
            if enter(.fetching(Asking())) { turn.jobs.append(self) }
            return
        }
        conclude(contents, of: isWhole ? nil : try VariantOriginal(derivation), ending, in: nil, &turn)
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
                let derivation = Derivation(stale.file, .stale, keeps: false)
                let original = contents.contains { $0 == nil } ? try VariantOriginal(derivation) : nil
                conclude(contents, of: original, self.ending(derivation), in: nil, &turn)
            } catch {
                fail(error, &turn)
            }
        }
        StoreWorkers.makers.add([serving])
    }

    /// Makes the images of a job that are not in `present`, and orders their stores. `original` is nil if all of them are.
    private func conclude(
        _ present: [ImageEnding.Content?], of original: VariantOriginal?, _ ending: ImageEnding, in book: OrderBook?,
        _ turn: inout Turn
    ) {
        var (ending, group) = (ending, [StoreOrder]())
        let (retrieval, variants, asked) = (ending.retrieval, self.variants, askedVariants)
        let made = original.map { original in
            make(variants.indices.filter { present[$0] == nil }, of: variants, from: original, ending)
        }
        ending.holdStores()
        let isKept =
            original.map { original in
                original.isStored
                    && (original.removals == nil || !retrieval.isRemoved(retrieval.original, since: original.removals))
            } ?? true
        ending.parts = variants.indices.map { index in
            let (content, way) =
                present[index].map { ($0, ending.way) } ?? made?[index]
                ?? (.failure(retrieval.absence(nil, now: retrieval.now)), ending.way)
            var part = ImageEnding(
                isKept ? variants[index] : variants[index].unstored, asked: asked[index], way, content,
                origin: ending.origin)
            (part.facts, part.original, part.arrived) = (ending.facts, ending.original, ending.arrived)
            (part.isOfHashedBytes, part.derivation) = (ending.isOfHashedBytes, ending.derivation)
            if case .processed(let image) = content {
                part.facts.warn(image.warnings)
                if image.warnings.contains(where: \.isDamage) { part.retrieval = part.retrieval.unstored }
            }
            if present[index] != nil { return Draft(part) }
            group += part.keepTarget(in: book) { part in
                if case .bytes = part.content { nil } else { original?.digest }
            }
            return Draft(part)
        }
        turn.store(group, urgent: !retrieval.options.batchesStores)
        wait(forStoresOf: ending, &turn)
    }

    private typealias Made = (content: ImageEnding.Content, way: RetrievalWay)

    /// Returns the images at these places, by their places: known ones, unchanged bytes, and what is made of the bytes.
    private func make(
        _ places: [Int], of variants: [Retrieval], from original: VariantOriginal, _ ending: ImageEnding
    ) -> [Int: Made] {
        var made: [Int: Made] = [:]
        for place in places {
            let variant = variants[place]
            if let known = variant.sameResult(of: original.digest) {
                made[place] = (.file(known), .disk)
            } else if variant.wantsOriginal || variant.keepsBytes(of: original.format) {
                switch ending.content {
                case .bytes: made[place] = (ending.content, ending.way)
                case .file where variant.wantsOriginal: made[place] = (ending.content, ending.way)
                case .file, .processed, .failure:
                    made[place] = (.bytes(.memory(original.bytes), original.format, original.pixels), ending.way)
                }
            }
        }
        var rest = places.filter { made[$0] == nil }
        while let first = rest.first.map({ variants[$0].options.processing }) {
            let alike = rest.filter { variants[$0].options.processing == first }
            rest.removeAll(where: alike.contains)
            let images = VariantMaker.make(alike.map { variants[$0] }, of: original.bytes, original.format) { [self] in
                note(.image)
            }
            for (place, image) in zip(alike, images) {
                switch image {
                case .success(let image): made[place] = (.processed(image), ending.way)
                case .failure(let error): made[place] = (.failure(error), ending.way)
                }
            }
        }
        return made
    }
}
