import KFImaging
import KFPipeline
import KFRemote
import KFStorage
import KFTerms
import Synchronization

/// The cache entries of a source, and the plan for its next retrieval.
public struct CacheExplanation: Sendable {
    /// The cache key of the image.
    public let key: String
    /// The identifier of the processing; empty for an original.
    public let identifier: String
    /// The entry of the requested image, which may have expired; nil if there is none.
    public let target: CachedEntry?
    /// Whether the target's file can be read and is unchanged since it was stored.
    public let isTargetWhole: Bool
    /// The original and everything made from it, expired or not: first the cache's own entries, then those of lower
    /// layers.
    public let entries: [CachedEntry]
    /// The last removal of the image or of its original from the cache, as far as the cache remembers it. The image may
    /// have been stored again since.
    public let removal: PastRemoval?
    /// The plan of the next retrieval.
    public internal(set) var plan: RetrievalPlan
    /// The entry of the requested image, or else of its original, that can be read; expired or not.
    package let usable: CachedEntry?
    /// The error of a command that needs the requested image to be cached and fresh.
    package let absence: KingfisherError
    /// The entries of the image in each remote; empty unless the remotes were asked.
    public internal(set) var remotes: [RemoteHolding] = []
    /// Whether there are remotes, and the options or the request keep them from being asked.
    public internal(set) var passesOverRemotes = false
}

/// The entries of an image in a remote.
public struct RemoteHolding: Sendable {
    /// An entry of the remote.
    public struct Found: Sendable {
        /// The facts about the image, as the entry states them.
        public let facts: ImageFacts
        /// The time at which the image expires.
        public let expires: Timestamp
        /// Whether the image has expired.
        public let isExpired: Bool
        /// Whether the remote has the bytes, too. They are not read here, so that they may still be wrong.
        public let hasObject: Bool
    }

    /// The name of the remote.
    public let remote: String
    /// The entry of the requested image; nil if there is none.
    public internal(set) var image: Found?
    /// The entry of its original; nil if there is none, or if the image is the original.
    public internal(set) var original: Found?
    /// The reason why the remote could not be asked; nil if it answered.
    public internal(set) var problem: String?

    /// The entry that a retrieval would take from here; nil for none.
    var choice: RemoteEntry?
    /// Whether it is an expired original, whose source is asked whether it is still right.
    var isStale = false
}

extension KingfisherManager {
    /// Explains what `retrieveImage` would do, without doing it: nothing is fetched, and no access is recorded or
    /// counted. A modifier without an identity runs. With `asksRemotes`, the remotes are asked what they have.
    public func explain(
        _ source: Source, options: KingfisherOptions = KingfisherOptions(), asksRemotes: Bool = false
    ) async throws(KingfisherError) -> CacheExplanation {
        let asked = Retrieval(source, try await prepared(options, for: source), cache)
        let (found, known) = try await cache.blocking.run { [self] () throws(KingfisherError) in
            let found = try asked.look(asksRemotes: false, extends: false)
            return (found, try explain(found))
        }
        var explanation = known
        guard asksRemotes, let remotes = asked.originals.remotes else { return explanation }
        explanation.passesOverRemotes = !asked.mayAskRemotes
        if explanation.passesOverRemotes { return explanation }
        let retrieval = found.retrieval
        for remote in remotes.remotes { explanation.remotes.append(await retrieval.holding(of: remote)) }
        guard case .ask(let stale, remotes: true) = retrieval.decide(found.sight, asksRemotes: true, now: cache.now)
        else { return explanation }
        let holdings = explanation.remotes.filter { $0.choice != nil }
        if let holding = holdings.first(where: { !$0.isStale }), let entry = holding.choice {
            explanation.plan = retrieval.plan(taking: entry, from: holding.remote, explanation.plan)
        } else if stale == nil, let holding = holdings.first, let entry = holding.choice {
            explanation.plan = retrieval.plan(importing: entry, from: holding.remote, explanation.plan, now: cache.now)
        }
        return explanation
    }

    /// Explains a retrieval. Blocks.
    func explain(_ asked: Retrieval) throws(KingfisherError) -> CacheExplanation {
        try explain(try asked.look(asksRemotes: false, extends: false))
    }

    private func explain(_ found: Retrieval.Found) throws(KingfisherError) -> CacheExplanation {
        let retrieval = found.retrieval
        var entries: [CachedEntry] = []
        var choices: [Retrieval.Candidate?] = []
        for (cache, keys) in retrieval.places {
            let own = try cache.entriesOfAllLayers(forKey: retrieval.target.key)
            entries += own
            for key in keys {
                let mine = own.filter { $0.entry.key == key && !$0.isOutdated(among: own) }
                choices.append(try Self.best(of: mine, for: retrieval, cache))
            }
        }
        let usable = choices.compactMap { $0 }.first { $0.isWhole && retrieval.accepts($0.cached.entry) }
        var target = choices[0]
        // The original itself is the image if it already has the requested format.
        if target == nil, let original = choices.last ?? nil, retrieval.cache === retrieval.originals,
            retrieval.keepsBytes(of: original.cached.entry.format)
        {
            target = original
        }
        let now = cache.now
        return CacheExplanation(
            key: retrieval.target.key, identifier: retrieval.target.identifier, target: target?.cached,
            isTargetWhole: target?.isWhole ?? false, entries: entries,
            removal: retrieval.pastRemoval,
            plan: retrieval.plan(
                found.decision, choices,
                answer: entries.first { $0.entry.key.isAnswer && retrieval.accepts($0.entry) }?.entry, now: now),
            usable: usable?.cached,
            absence: retrieval.options.overlayProblem
                ?? retrieval.absence(target.flatMap { $0.isWhole ? $0.cached.entry : nil }, now: now))
    }

    /// Returns the entry that a look-up takes: the first fresh one, otherwise the first usable one.
    private static func best(
        of entries: [CachedEntry], for retrieval: Retrieval, _ cache: ImageCache
    ) throws(KingfisherError) -> Retrieval.Candidate? {
        let choices = try entries.map { cached throws(KingfisherError) -> Retrieval.Candidate in
            (cached, try cache.isWhole(cached))
        }
        let usable = choices.filter { $0.isWhole && retrieval.accepts($0.cached.entry) }
        return usable.first { !$0.cached.isExpired } ?? usable.first ?? choices.first
    }
}

extension CachedEntry {
    /// Whether a lower layer has made it from other bytes than those of the fresh original above it. `all` are the entries of
    /// its source, the upper layers' first.
    fileprivate func isOutdated(among all: [CachedEntry]) -> Bool {
        guard layer != nil, !entry.key.isOriginal else { return false }
        let original = all.prefix { $0.layer != layer }.first { $0.entry.key == entry.key.original && !$0.isExpired }
        return original.map { $0.entry.object.digest != entry.original } ?? false
    }
}

/// A question to a remote, outside of a retrieval.
private final class RemoteQuestion: RemoteWaiter {
    private struct Reply {
        var bytes: [UInt8] = []
        var continuation: UnsafeContinuation<CacheLayerAnswer, Never>?
    }

    private let reply = Mutex(Reply())

    /// Returns the answer, and the bytes of a blob that was read.
    static func ask(
        _ operation: CacheLayerRequest.Operation, _ kind: CacheLayerRequest.Kind, _ name: String, of remote: Remote
    ) async -> (answer: CacheLayerAnswer, bytes: [UInt8]) {
        let question = RemoteQuestion()
        let answer = await withUnsafeContinuation { continuation in
            question.reply.withLock { $0.continuation = continuation }
            remote.start([
                CacheLayerRequest(
                    operation, kind, name, limit: Int64(RemoteEntry.longest), of: remote, for: question)
            ])
        }
        return (answer, question.reply.withLock { $0.bytes })
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        reply.withLock { $0.bytes.append(contentsOf: bytes) }
        return true
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {
        reply.withLock { reply in
            defer { reply.continuation = nil }
            return reply.continuation
        }?.resume(returning: answer)
    }
}

extension Retrieval {
    /// Asks a remote what it has of the image.
    fileprivate func holding(of remote: Remote) async -> RemoteHolding {
        var holding = RemoteHolding(remote: remote.name)
        var entries: [RemoteEntry?] = []
        for key in keysOnDisk {
            let (entry, found, problem) = await found(RemoteEntry.name(of: key), in: remote)
            holding.problem = holding.problem ?? problem
            if key == target { holding.image = found } else { holding.original = found }
            entries.append(entry)
        }
        if let choice = choice(of: entries) {
            let hasObject = (choice.key == target ? holding.image : holding.original)?.hasObject ?? false
            (holding.choice, holding.isStale) = (hasObject ? choice.entry : nil, choice.isStale)
        }
        return holding
    }

    private func found(
        _ name: String, in remote: Remote
    ) async -> (entry: RemoteEntry?, RemoteHolding.Found?, problem: String?) {
        let (answer, bytes) = await RemoteQuestion.ask(.read, .entry, name, of: remote)
        guard answer == .done else { return (nil, nil, answer.problem) }
        guard let entry = RemoteEntry(bytes, name: name) else { return (nil, nil, "its entry cannot be used") }
        guard accepts(entry) else { return (nil, nil, nil) }
        let (object, _) = await RemoteQuestion.ask(.check, .object, entry.object.hex, of: remote)
        return (
            entry,
            RemoteHolding.Found(
                facts: ImageFacts(entry), expires: entry.expires, isExpired: entry.isExpired(at: cache.now),
                hasObject: object == .done),
            object == .absent ? nil : object.problem
        )
    }
}

extension ImageFacts {
    fileprivate init(_ entry: RemoteEntry) {
        self.init(
            format: ImageFormat(rawValue: entry.format) ?? .png, entry.pixels, bytes: entry.size, digest: entry.object)
    }
}
