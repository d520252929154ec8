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
}

/// Several images of one source.
///
/// Each is looked up as one image is, and cached ones are taken as they are. Then come those that a remote has. Of the
/// others, those that ask for the same original in the same way are fetched together, and those with the same decoding are
/// made together.
extension ImageJob: ImageRecipient {
    /// Looks for the images, and starts jobs for those that are not cached.
    func split(_ retrievals: [Retrieval], _ turn: inout Turn) {
        var split = Split(retrievals.count)
        for (place, retrieval) in retrievals.enumerated() {
            do throws(KingfisherError) {
                // No alternative has what the overlay lacks.
                if let problem = retrieval.options.overlayProblem { throw problem }
                let found = try retrieval.look(asksRemotes: retrieval.asksRemotes)
                if let image = try found.retrieval.cachedImage(found.decision) {
                    split.results[place] = .success(image)
                } else if let wish = JointWish(found) {
                    split.add(
                        place, wish, isStale: found.sight.file?.entry.key == found.retrieval.target, of: retrievals)
                } else {
                    split.add([place]) { ImageJob(manager, retrieval, for: self, number: $0) }
                }
            } catch {
                split.results[place] = .failure(error)
            }
        }
        manager.cache.alreadyOpen?.writeReadsSoon()
        for group in split.groups { split.start(group, of: retrievals, for: self) }
        guard enter(.split(split)) else { return }
        if split.jobs.isEmpty { ended([], of: retrievals, &turn) } else { Self.start(split.jobs) }
    }

    /// Takes the ends of a job's parts. The last one ends the job, unless images that no remote has are to be made.
    private func ended(_ parts: [EndedImage], of retrievals: [Retrieval], _ turn: inout Turn) {
        let next = split { split, state -> [ImageJob]? in
            for image in parts { split.note(image) }
            guard split.open == 0 else { return nil }
            (split.jobs, split.places) = ([], [])
            for group in split.groups where !state.isCancelled {
                split.add(together: group, where: split.missed.contains, of: retrievals, for: self)
            }
            split.missed = []
            return split.jobs
        }
        for image in parts { inherit(from: image.job) }
        guard let next, let next else { return }
        if !next.isEmpty { return Self.start(next) }
        let results = split { split, _ in
            split.results.map { $0 ?? .failure(.requestError(reason: .taskCancelled)) }
        }
        guard let results, let first = results.first else { return }
        state.withLock { $0.results = results }
        turn.end(self, first)
    }

    package func ended(_ images: [EndedImage]) {
        if case .several(let retrievals) = wanted { Turn.run { ended(images, of: retrievals, &$0) } }
    }
}

extension Split {
    /// Adds an image to the group of those that it is fetched and made with.
    fileprivate mutating func add(_ place: Int, _ wish: JointWish, isStale: Bool, of retrievals: [Retrieval]) {
        let group =
            groups.firstIndex { $0.wish == wish && retrievals[$0.places[0]].asks(like: retrievals[place]) }
            ?? groups.endIndex
        if group == groups.endIndex { groups.append(Group(wish: wish)) }
        groups[group].places.append(place)
        if isStale { groups[group].areStale = true }
    }

    /// Adds the jobs that a group begins with.
    fileprivate mutating func start(_ group: Group, of retrievals: [Retrieval], for job: ImageJob) {
        let processed = group.places.filter { retrievals[$0].target != retrievals[$0].original }
        guard case .asking(_, remotes: true) = group.wish, group.places.count > 1, !processed.isEmpty else {
            return add(together: group, where: { _ in true }, of: retrievals, for: job)
        }
        for place in processed {
            add([place]) {
                ImageJob(job.manager, retrievals[place], .oneOfRemotes, for: job, number: $0, asking: Asking())
            }
        }
        missed.formUnion(Set(group.places).subtracting(processed))
    }

    /// Adds the job that makes images of a group together. One alone is an image like any other.
    fileprivate mutating func add(
        together group: Group, where isWanted: (Int) -> Bool, of retrievals: [Retrieval], for job: ImageJob
    ) {
        let places = group.places.filter(isWanted)
        guard let first = places.first.map({ retrievals[$0] }) else { return }
        if group.places.count == 1 { return add(places) { ImageJob(job.manager, first, for: job, number: $0) } }
        let wanted = places.map { retrievals[$0] }
        let box = first.box.ofOriginal(isStored: wanted.contains(where: \.keepsOriginal))
        let original = Retrieval(first.source, box, job.manager.cache, pin: first.pin)
        add(places) { number in
            ImageJob(
                job.manager, original, .together(wanted, areStale: group.areStale), for: job, number: number)
        }
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
        guard case .network(let resource) = source else { return true }
        let requests = [options.request, other.options.request]
        if requests.contains(where: { $0.redirectHandler != nil && $0.redirectHandler?.cacheIdentity == nil }) {
            return false
        }
        let digests = requests.map { RequestIdentity.digest(resource.downloadURL, $0) }
        return digests[0] == digests[1]
    }
}

extension OptionsBox {
    /// The options for the original of several images.
    fileprivate func ofOriginal(isStored: Bool) -> OptionsBox {
        with { options in
            options.takeOriginal()
            options.cacheMemoryOnly = !isStored
            options.waitForCache = true
        }
    }
}
