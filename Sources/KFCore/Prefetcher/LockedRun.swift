import KFLists
import KFPipeline
import KFStorage
import KFTerms
import Synchronization

/// The lock of a run: what its images must be, and what it adds to the file.
///
/// An image that the lock has must match. One that it lacks is added when it has been retrieved (trust on first use),
/// unless the lock is frozen.
public final class LockedRun: Sendable {
    /// The changes of the lock that a run may make.
    public enum Mode: Sendable {
        /// It adds images.
        case adding
        /// Nothing: an image that the lock lacks fails.
        case frozen
        /// It takes what is served now.
        case updating
    }

    /// The numbers of images by what the lock said of them.
    public struct Counts: Sendable {
        /// The images that were added.
        public fileprivate(set) var new = 0
        /// The images that are others than the lock says, and were refused, unless the run replaces their lines; and those
        /// that an earlier item of the run contradicts.
        public fileprivate(set) var changed = 0
        /// The images that are as the lock says.
        public fileprivate(set) var asLocked = 0
        /// The images that were removed from the lock.
        public fileprivate(set) var pruned = 0
        /// The images that are not what the origin serves now under the URL, so that the lock does not get them: an
        /// alternative delivered them, or they are stale.
        public fileprivate(set) var notLocked = 0
    }

    /// An image that is another one than the lock has by now: another run, or an earlier item of this one, has locked its
    /// URL meanwhile.
    public struct Conflict: Sendable {
        /// The URL in the lock.
        public let url: String
        /// The image that the lock has.
        public let locked: ImageLock.Image
        /// The image of this run.
        public let found: ImageLock.Image

        /// The error of the image, `unexpectedContent` (2011).
        public var error: KingfisherError {
            .responseError(
                reason: .unexpectedContent(
                    expected: locked.hash.description, found: found.hash.description, bytes: found.bytes ?? 0))
        }
    }

    private struct State {
        var changes: [String: ImageLock.Change] = [:]
        /// The rows whose images an update has found as they were.
        var confirmed: Set<Int> = []
        var counts = Counts()
        /// Whether the list has named the image of each row.
        var named: [Bool]
        var hasNamedOne = false
        var hasUnreadable = false
    }

    /// The path of the lock.
    public let path: String
    /// The changes that the run may make.
    public let mode: Mode
    private let lock: ImageLock
    /// The request, if its keys lack a part of the URLs.
    private let shortening: RequestOptions?
    private let prunes: Bool
    private let state: Mutex<State>

    /// Reads the lock, which may be missing unless it is frozen. `request` has the run's options for keys. With `prunes`,
    /// images that the run does not name are removed at its end.
    public init(
        path: String, mode: Mode = .adding, prunes: Bool = false, request: RequestOptions = RequestOptions()
    ) throws(KingfisherError) {
        func failure(_ detail: String) -> KingfisherError { ImageLock.failure(path, detail) }
        let found = try ImageLock.read(path)
        if found == nil, mode == .frozen { throw failure("there is no such file, and it is frozen") }
        lock = found ?? ImageLock()
        if mode != .frozen, let problem = ImageLock.obstacle(to: path) { throw failure(problem) }
        let ignored = Self.ignoredParameters(request)
        if lock.count > 0, lock.ignoredParameters != ignored {
            let (theirs, ours) = (lock.ignoredParameters ?? "none", ignored ?? "none")
            throw failure("its URLs lack other query parameters (\(theirs)) than those of this run (\(ours))")
        }
        (self.path, self.mode, self.prunes) = (path, mode, prunes)
        shortening = ignored == nil && request.cacheKeyFilter == nil ? nil : request
        state = Mutex(State(named: prunes ? [Bool](repeating: false, count: lock.count) : []))
    }

    /// Returns the name of a source in the lock: the URL in the normal form of cache keys, without what identifies the
    /// requester. Nil for a source that is not fetched.
    private func name(of source: Source) -> String? {
        guard case .network(let resource) = source else { return nil }
        return shortening?.keyText(of: resource.downloadURL) ?? resource.downloadURL.text
    }

    /// The query parameters that keys lack, as the header of a lock names them.
    private static func ignoredParameters(_ request: RequestOptions) -> String? {
        if request.ignoresQuery || request.ignoredParameters.contains("*") { return "all" }
        let names = request.ignoredParameters.sorted().joined(separator: ",")
        return names.isEmpty ? nil : names
    }

    /// Returns the hash that an image must have; nil if it may be any. Throws `notLocked` (1009) if the frozen lock lacks
    /// it.
    package func pin(of source: Source, isOverlay: Bool = false) throws(KingfisherError) -> ContentHash? {
        guard let name = name(of: source) else { return nil }
        // A run that names nothing but its overlay has an empty list.
        if prunes, !isOverlay { state.withLock { $0.hasNamedOne = true } }
        guard let row = lock.row(of: name) else {
            if mode == .frozen { throw .requestError(reason: .notLocked(path: path)) }
            return nil
        }
        if prunes { state.withLock { $0.named[row] = true } }
        return mode == .updating ? nil : lock.image(row).hash
    }

    /// The original of an image.
    private struct Finding {
        /// The URL in the lock.
        let name: String
        /// Nil if it is not known.
        let image: ImageLock.Image?
        /// Whether it is what the origin has now.
        let isOfOrigin: Bool
    }

    private func finding(_ source: Source, _ original: (digest: Digest, bytes: Int64?)?, isOfOrigin: Bool) -> Finding? {
        name(of: source).map { name in
            Finding(
                name: name, image: original.map { ImageLock.Image(hash: ContentHash($0.digest), bytes: $0.bytes) },
                isOfOrigin: isOfOrigin)
        }
    }

    private func finding(_ result: RetrieveImageResult) -> Finding? {
        let isAlternative = name(of: result.source) != name(of: result.originalSource)
        let isOld = mode == .updating && result.way == .stale
        return finding(result.originalSource, result.original, isOfOrigin: !isAlternative && !isOld)
    }

    /// Returns the original of the item's first successful image. All images of an item have the same original.
    private func finding(_ outcome: PrefetchOutcome) -> Finding? {
        guard case .success(let source) = outcome.item.source else { return nil }
        switch outcome.ending {
        case .skipped(let files):
            return files.first.flatMap { finding(source, $0.entry.originalContent, isOfOrigin: true) }
        case .retrieved(let results):
            for case .success(let image) in results.lazy.map(\.image) { return finding(image) }
            return nil
        case .failed, .notTried: return nil
        }
    }

    /// Notes the first image of a URL in this run, and returns the error of any other one, whatever the lock of before
    /// said. An image that had a pin has been compared already. Has no effect on an image that is noted.
    private func mismatch(_ finding: Finding) -> KingfisherError? {
        let row = lock.row(of: finding.name)
        if mode == .frozen || mode == .adding && row != nil { return nil }
        guard finding.isOfOrigin, let image = finding.image else { return nil }
        let locked = row.map(lock.image)
        return state.withLock { state in
            var first = state.changes[finding.name]?.image
            if first == nil, let row, state.confirmed.contains(row) { first = locked }
            if let first {
                if first.hash == image.hash { return nil }
                return Conflict(url: finding.name, locked: first, found: image).error
            }
            if let row, locked?.hash == image.hash {
                state.confirmed.insert(row)
            } else {
                state.changes[finding.name] = mode == .updating ? .replace(image) : .add(image)
                if row == nil { state.counts.new += 1 } else { state.counts.changed += 1 }
            }
            return nil
        }
    }

    /// Counts an image that ``mismatch(_:)`` has noted.
    private func count(_ finding: Finding) {
        let locked = lock.row(of: finding.name).map(lock.image)
        state.withLock { state in
            if mode == .frozen || mode == .adding && locked != nil {
                state.counts.asLocked += 1
                // Another run that prunes may drop it meanwhile.
                if prunes, mode == .adding, let locked { state.changes[finding.name] = .add(locked) }
            } else if !finding.isOfOrigin {
                state.counts.notLocked += 1
            } else if let locked, locked.hash == finding.image?.hash {
                state.counts.asLocked += 1
            }
        }
    }

    /// Notes the image of an item, and returns the outcome: a failure with `unexpectedContent` (2011) if an earlier item
    /// of the URL had another image. Further calls have no effect.
    func checked(_ outcome: PrefetchOutcome) -> PrefetchOutcome {
        guard let error = finding(outcome).flatMap(mismatch) else { return outcome }
        return PrefetchOutcome(
            item: outcome.item, ending: .failed(error), attempts: outcome.attempts, isPinned: outcome.isPinned,
            steps: outcome.steps)
    }

    /// Counts the end of an item. Returns the outcome as ``checked(_:)`` does.
    func counted(_ outcome: PrefetchOutcome) -> PrefetchOutcome {
        let outcome = checked(outcome)
        if case .responseError(reason: .unexpectedContent)? = outcome.error {
            state.withLock { $0.counts.changed += 1 }
        } else if case .failure = outcome.item.source {
            state.withLock { $0.hasUnreadable = true }
        } else if let finding = finding(outcome) {
            count(finding)
        }
        return outcome
    }

    /// Notes an image that was retrieved. Returns `unexpectedContent` (2011) if this run has noted another one of its URL.
    @discardableResult
    public func note(_ result: RetrieveImageResult) -> KingfisherError? {
        guard let finding = finding(result) else { return nil }
        if let error = mismatch(finding) {
            state.withLock { $0.counts.changed += 1 }
            return error
        }
        count(finding)
        return nil
    }

    /// A line that the run replaces.
    public struct Replacement: Sendable {
        /// The URL in the lock.
        public let url: String
        /// The hash that it had.
        public let old: ContentHash
        /// The hash of what is served now.
        public let new: ContentHash
    }

    /// The lines that the run replaces, by URL.
    public var replacements: [Replacement] {
        let changes = state.withLock { $0.changes }
        return changes.compactMap { url, change in
            guard case .replace(let image) = change, let row = lock.row(of: url) else { return nil }
            return Replacement(url: url, old: lock.image(row).hash, new: image.hash)
        }.sorted { $0.url < $1.url }
    }

    /// The numbers so far.
    public var counts: Counts { state.withLock { $0.counts } }

    /// The reason why the run drops no lines although it prunes: what it was given may not be the whole list. Nil if there is
    /// none.
    public var pruningObstacle: String? {
        guard prunes else { return nil }
        return state.withLock { state in
            if state.hasUnreadable { return "a record of the list cannot be read" }
            return state.hasNamedOne ? nil : "the list names no image"
        }
    }

    /// Writes the changes. With `isWhole`, the run has named all of its images, so that others may be pruned unless there is
    /// a ``pruningObstacle``. Returns the images that are not those that another run has locked meanwhile. Throws
    /// `outputFailed` (4002). Blocks.
    public func finish(isWhole: Bool) throws(KingfisherError) -> [Conflict] {
        if mode == .frozen { return [] }
        var conflicts: [Conflict] = []
        let drops = prunes && isWhole && pruningObstacle == nil
        let (changes, named) = state.withLock { state in
            if drops { state.counts.pruned = state.named.count { !$0 } }
            return (state.changes, drops ? state.named : [])
        }
        if !changes.isEmpty || named.contains(false) {
            // Lines that other processes have added meanwhile are kept.
            let others = try ImageLock.merge(
                changes, into: path, ignoredParameters: shortening.flatMap(Self.ignoredParameters)
            ) { url in
                named.isEmpty || lock.row(of: url).map { named[$0] } ?? true
            }
            state.withLock { state in
                for (url, locked) in others where lock.row(of: url) == nil {
                    guard case .add(let found) = changes[url] else { continue }
                    conflicts.append(Conflict(url: url, locked: locked, found: found))
                    state.counts.new -= 1
                    state.counts.changed += 1
                }
            }
        }
        return conflicts.sorted { $0.url < $1.url }
    }
}
