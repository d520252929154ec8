import KFImaging
import KFStorage
import KFTerms
import Synchronization

/// The work that a look-up leaves for an image. Images of one original with equal wishes are fetched and made together.
enum JointWish: Equatable {
    /// It is made from a cached original.
    case making(Digest)
    /// The remotes or the source are asked, with this condition.
    case asking(RequestCondition?, remotes: Bool)
    /// An alternative may replace what was refused.
    case refused

    /// Nil for an image with nothing in common with others: an expired file that is served.
    init?(_ found: Retrieval.Found) {
        switch found.decision {
        case .serveStale(let file, _) where file.entry.key == found.retrieval.target: return nil
        case .make(let file), .serveStale(let file, _): self = .making(file.entry.object.digest)
        case .ask(let stale, let remotes):
            let own = stale.flatMap { $0.isBorrowed ? nil : $0 }
            self = .asking(own.flatMap { found.retrieval.condition(of: $0.entry) }, remotes: remotes)
        case .fail: self = .refused
        case .need, .serveFromMemory, .serve: return nil
        }
    }

    /// Whether images with these wishes go together. One request without a condition serves several conditions.
    func goes(with other: JointWish) -> Bool {
        switch (self, other) {
        case (.asking(_, let remotes), .asking(_, let others)): remotes == others
        default: self == other
        }
    }
}

/// Several images of one source.
///
/// Each is looked up as one image is, and cached ones are taken as they are. Of the others, those that ask for the same
/// original in the same way go together: one look-up asks the remotes for all of them. Those that no remote has are fetched
/// together, and those with the same decoding are made together.
extension ImageJob: ImageRecipient {
    /// Looks for the images, and starts jobs for those that are not cached.
    func split(_ retrievals: [Retrieval]) {
        var split = Split(retrievals.count)
        // The images that are fetched and made together.
        var groups: [(wish: JointWish, places: [Int], terms: ImageJob.JointTerms)] = []
        for (place, retrieval) in retrievals.enumerated() {
            do throws(KingfisherError) {
                // No alternative has what the overlay lacks.
                if let problem = retrieval.options.overlayProblem { throw problem }
                let found = try retrieval.look(asksRemotes: retrieval.asksRemotes)
                if let image = try found.retrieval.cachedImage(found.decision) {
                    split.results[place] = .success(image)
                } else if let wish = JointWish(found) {
                    let isStale = found.sight.file?.entry.key == found.retrieval.target
                    let group = groups.firstIndex {
                        $0.wish.goes(with: wish) && retrievals[$0.places[0]].asks(like: retrieval)
                    }
                    if let group {
                        groups[group].places.append(place)
                        if isStale { groups[group].terms.areStale = true }
                        if groups[group].wish != wish { groups[group].terms.isUnconditional = true }
                    } else {
                        groups.append((wish, [place], JointTerms(areStale: isStale)))
                    }
                } else {
                    split.add([place]) { ImageJob(manager, retrieval, for: self, number: $0) }
                }
            } catch {
                split.results[place] = .failure(error)
            }
        }
        manager.cache.alreadyOpen?.writeReadsSoon()
        for (_, places, terms) in groups {
            split.add(places) { job(for: places.map { retrievals[$0] }, terms, number: $0) }
        }
        guard enter(.split(split)) else { return }
        if split.jobs.isEmpty { ended([]) } else { Self.start(split.jobs) }
    }

    /// Returns the job that brings images together. One alone is an image like any other.
    private func job(for wanted: [Retrieval], _ terms: JointTerms, number: Int) -> ImageJob {
        if wanted.count == 1 { return ImageJob(manager, wanted[0], for: self, number: number) }
        let box = wanted[0].box.ofOriginal(isStored: wanted.contains(where: \.keepsOriginal))
        let original = Retrieval(wanted[0].source, box, manager.cache, pin: wanted[0].pin)
        let job = ImageJob(manager, original, .together(wanted, terms), for: self, number: number)
        let times = state.withLock { $0.timesStored }
        job.state.withLock { $0.timesStored = times }
        return job
    }

    /// Goes on with the images that a remote has, each alone, and with the others together. `answer` is about their original.
    func split(_ bodies: [EntryKey: Body], _ answer: Answer, _ turn: inout Turn) {
        guard case .together(let asked, let terms) = wanted else { return }
        let variants = self.variants
        var (split, asking) = (Split(variants.count), self.asking)
        func add(_ places: [Int], _ wanted: Wanted, _ retrieval: Retrieval, asked: Retrieval) {
            split.add(places) { number in
                let part = ImageJob(manager, asked, wanted, for: self, number: number, asking: asking, served: served)
                let errors = state.withLock { $0.errors }
                part.state.withLock { state in
                    (state.retrieval, state.variants) = (retrieval, places.map { variants[$0] })
                    (state.errors, state.hasAskedRemotes) = (errors, true)
                }
                return part
            }
        }
        var others: [Int] = []
        for (place, variant) in variants.enumerated() {
            if bodies[variant.target] == nil {
                others.append(place)
            } else {
                add([place], .one, variant, asked: asked[place])
            }
        }
        if !others.isEmpty {
            // An expired image that a remote has, fresh, says nothing of the others.
            let mine = others.map { variants[$0] }
            if let stale = asking.stale, !([retrieval] + mine).contains(where: { $0.target == stale.entry.key }) {
                asking.stale = bestEffort { try staleFile(of: mine) } ?? nil
            }
            add(others, .together(others.map { asked[$0] }, terms), retrieval, asked: self.asked)
        }
        guard enter(.split(split)) else { return }
        for job in split.jobs { job.arrived(bodies[job.retrieval.target].map { .body($0) } ?? answer, &turn) }
    }

    /// Takes the ends of parts. The last one ends the job.
    package func ended(_ parts: [ImageJob]) {
        if let first = note(parts).first { Turn.run { $0.end(self, first) } }
    }
}

extension Retrieval {
    /// Whether both ask for the same original in the same way, and keep it as long.
    fileprivate func asks(like other: Retrieval) -> Bool {
        guard original == other.original, pin == other.pin, cache === other.cache, originals === other.originals,
            options.forceRefresh == other.options.forceRefresh, options.revalidate == other.options.revalidate,
            options.onlyFromCache == other.options.onlyFromCache, options.offline == other.options.offline,
            options.cacheMemoryOnly == other.options.cacheMemoryOnly,
            options.cachePolicy == other.options.cachePolicy,
            options.diskCacheExpiration == other.options.diskCacheExpiration,
            options.staleIfError == other.options.staleIfError, box.download.isAlike(other.box.download)
        else { return false }
        guard let url else { return true }
        let requests = [options.request, other.options.request]
        if requests.contains(where: { $0.redirectHandler != nil && $0.redirectHandler?.cacheIdentity == nil }) {
            return false
        }
        let digests = requests.map { RequestIdentity.digest(url, $0) }
        return digests[0] == digests[1]
    }
}

extension OptionsBox {
    /// The options for the original of several images.
    fileprivate func ofOriginal(isStored: Bool) -> OptionsBox {
        with { options in
            options.takeOriginal()
            (options.isForParts, options.cacheOriginalImage) = (true, isStored)
            options.waitForCache = true
        }
    }
}
