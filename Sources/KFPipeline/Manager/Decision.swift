import KFStorage
import KFTerms

/// The image in memory and the file on the disk that were found for a retrieval.
package struct Sight: Sendable {
    /// The remembered response without an image.
    package enum Answer: Sendable {
        /// The index has not been searched for it.
        case unknown
        case none
        case entry(Entry)
    }

    /// The image in memory, if it is for this request.
    var memory: CachedImage?
    /// The file on the disk that counts.
    var file: FoundFile?
    /// Whether the disk was looked into.
    var hasFiles = false
    var answer = Answer.unknown
    /// The number of commits by other processes when the disk was looked into; nil before that.
    var commits: Int64?
}

/// The next step of a retrieval. `Retrieval.decide` returns it to `fetch`, lists, dry runs and `explain` alike.
package enum Decision: Sendable {
    package enum Fact: Sendable { case files, siblings }

    /// Look further first: a fresh hit does not pay for what only a miss has to know.
    case need(Fact)
    case serveFromMemory(CachedImage)
    /// Serve a fresh file as it is.
    case serve(FoundFile)
    /// Make the image from a fresh original.
    case make(FoundFile)
    /// Serve an expired file. With `renews`, its origin is asked meanwhile.
    case serveStale(FoundFile, renews: Bool)
    /// Ask the remotes or the source. The expired file may be confirmed, or serve if that fails.
    case ask(stale: FoundFile?, remotes: Bool)
    case fail(KingfisherError)

    /// Whether no cache has what is wanted, fresh.
    var isMiss: Bool {
        switch self {
        case .need, .serveFromMemory, .serve, .make: false
        case .serveStale, .ask, .fail: true
        }
    }
}

extension Retrieval {
    /// Decides from what has been seen. The order of the questions is that of precedence: forced, memory, fresh files,
    /// remembered refusals, expired files at once, remotes, the cache alone, the source.
    ///
    /// `asksRemotes` is whether a remote could be asked now, and `isFirst` whether this image was not looked up before.
    package func decide(_ sight: Sight, asksRemotes: Bool, isFirst: Bool = true, now: Timestamp) -> Decision {
        if let problem = options.overlayProblem { return .fail(problem) }
        let needsSiblings = remembersAnswers && sight.answer.isUnknown
        if isForced { return needsSiblings ? .need(.siblings) : .ask(stale: nil, remotes: false) }
        if let image = sight.memory { return refusal(of: image).map { .fail($0) } ?? .serveFromMemory(image) }
        if options.fromMemoryCacheOrRefresh {
            // Another representation may be in memory.
            if needsSiblings { return .need(.siblings) }
            return options.onlyFromCache ? withoutRequest(nil, now) : .ask(stale: nil, remotes: false)
        }
        guard sight.hasFiles else { return .need(.files) }
        if let file = sight.file, !asksOrigin, file.isFresh || isAsSent(file.entry) {
            // The original itself is the image if it already has the requested format.
            let isImage = file.entry.key == target || keepsBytes(of: file.entry.format)
            return accepted(
                isImage && file.cache === cache ? .serve(file) : .make(file), of: file.entry.originalMeasures)
        }
        if needsSiblings { return .need(.siblings) }
        let stale = sight.file
        if let refusal = refusal(sight.answer, after: stale?.entry, now: now) {
            let serves = options.onlyFromCache && stale.map { mayServeStale($0.entry, now: now) } ?? false
            if !serves { return .fail(refusal) }
        }
        if let stale, isFirst, !options.onlyFromCache, servesWhileRevalidating(stale.entry, now: now) {
            return accepted(.serveStale(stale, renews: true), of: stale.entry.originalMeasures)
        }
        if asksRemotes { return .ask(stale: stale, remotes: true) }
        return options.onlyFromCache ? withoutRequest(stale, now) : .ask(stale: stale, remotes: false)
    }

    /// Decides for a retrieval that may ask neither a remote nor its source.
    func withoutRequest(_ stale: FoundFile?, _ now: Timestamp) -> Decision {
        if let stale, mayServeStale(stale.entry, now: now) {
            return accepted(.serveStale(stale, renews: false), of: stale.entry.originalMeasures)
        }
        return .fail(absence(stale?.entry, now: now))
    }

    private func accepted(_ decision: Decision, of original: @autoclosure () -> ImageMeasures?) -> Decision {
        refusal(of: original()).map { .fail($0) } ?? decision
    }

    /// Returns why the filter refuses an image in memory, which does not know the original of a processed one.
    func refusal(of image: CachedImage) -> KingfisherError? {
        target.isOriginal ? refusal(of: image.facts.measures) : nil
    }

    /// Returns why the filter refuses an original; nil if it accepts it, or its measures are not known.
    package func refusal(of original: @autoclosure () -> ImageMeasures?) -> KingfisherError? {
        // A hit without a filter does not pay for the measures.
        options.filter == nil ? nil : original().flatMap { box.inspector.refusal(of: $0, isWhole: true) }
    }
}

/// The next steps for an image that a look-up of many keys did not find.
extension Retrieval {
    /// The error that the remembered response stands for; nil if the source may be asked.
    package func refusal(by answer: Sight.Answer, now: Timestamp) -> KingfisherError? {
        // The index has neither the image nor its original, and so no other representation.
        let sight = Sight(hasFiles: true, answer: answer)
        guard case .fail(let error) = decide(sight, asksRemotes: false, now: now) else { return nil }
        return error.isRemembered ? error : nil
    }
}

/// Gathering what a decision needs. Blocks on files and the index.
extension Retrieval {
    /// The retrieval of the representation that the request selects, with what was seen of it and what follows.
    package typealias Found = (retrieval: Retrieval, sight: Sight, decision: Decision)

    /// Looks into the caches until what is seen decides. Counts no hit, and with `extends` false extends no expiry.
    package func look(asksRemotes: Bool, isFirst: Bool = true, extends: Bool = true) throws(KingfisherError) -> Found {
        var retrieval = self
        var sight = Sight(memory: memory(extends: extends))
        // At most five rounds: files and siblings are gathered once each for a representation, and once more for another
        // one that the siblings select.
        while true {
            let decision = retrieval.decide(sight, asksRemotes: asksRemotes, isFirst: isFirst, now: now)
            switch decision {
            case .need(.files):
                sight.commits = try retrieval.originals.storage()?.commitsOfOthers
                sight.file = try retrieval.fileOnDisk()
                sight.hasFiles = true
            case .need(.siblings):
                let (chosen, answer) = try retrieval.selected()
                if chosen.target != retrieval.target { sight = Sight(memory: chosen.memory(extends: extends)) }
                sight.answer = answer
                retrieval = chosen
            default: return (retrieval, sight, decision)
            }
        }
    }

    private func memory(extends: Bool) -> CachedImage? {
        if asksOrigin || isForced { return nil }
        let image = cache.imageInMemory(
            target, extending: extends ? options.memoryCacheAccessExtendingExpiration : .none)
        return image.flatMap { accepts($0) ? $0 : nil }
    }

    /// Returns the first fresh file, or else the first expired one. A file that must be revalidated is the first of both.
    private func fileOnDisk() throws(KingfisherError) -> FoundFile? {
        var stale: FoundFile?
        for (cache, keys) in places {
            guard
                let found = try cache.firstFile(
                    of: keys, strict: options.onlyFromCache, prefersFresh: !asksOrigin, isTrusted: isTrusted,
                    where: accepts)
            else { continue }
            // A pinned image is immutable, whatever its freshness says.
            if pin != nil { return found.asFresh }
            if found.isFresh || asksOrigin { return found }
            stale = stale ?? found
        }
        if let stale { return stale }
        return try pinnedElsewhere()
    }

    /// Returns the image itself on this cache's disk, fresh or expired, and not its original. Blocks.
    func ownFile() throws(KingfisherError) -> FoundFile? {
        let found = try cache.firstFile(of: [target], strict: false, prefersFresh: false, where: accepts)
        return found.flatMap { $0.isBorrowed ? nil : $0 }
    }

    /// Returns the retrieval for the representation that the request selects, and the remembered response, according to
    /// the index.
    private func selected() throws(KingfisherError) -> (Retrieval, Sight.Answer) {
        guard selects else { return (self, accepted(try originals.answer(answerKey))) }
        var entries = try cache.entriesInIndex(forKey: target.key)
        if originals !== cache { entries += try originals.entriesInIndex(forKey: target.key) }
        return (selecting(among: entries), accepted(entries.first { $0.key.isAnswer && accepts($0) }))
    }
}

extension Sight.Answer {
    fileprivate var isUnknown: Bool {
        if case .unknown = self { true } else { false }
    }
}
