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
        /// The images that are others than the lock says.
        public fileprivate(set) var changed = 0
        /// The images that are as the lock says.
        public fileprivate(set) var asLocked = 0
        /// The images that were removed from the lock.
        public fileprivate(set) var pruned = 0
    }

    private struct State {
        var changes: [String: ImageLock.Change] = [:]
        var counts = Counts()
        /// Whether the list has named the image of each row.
        var named: [Bool]
    }

    /// The path of the lock.
    public let path: String
    /// The changes that the run may make.
    public let mode: Mode
    private let lock: ImageLock
    private let ignoredParameters: String?
    private let prunes: Bool
    private let state: Mutex<State>

    /// Reads the lock, which may be missing unless it is frozen. `ignoredParameters` are those of the run's keys, as the
    /// header names them. With `prunes`, images that the run does not name are removed at its end.
    public init(
        path: String, mode: Mode = .adding, prunes: Bool = false, ignoredParameters: String? = nil
    ) throws(KingfisherError) {
        func failure(_ detail: String) -> KingfisherError { ImageLock.failure(path, detail) }
        let found = try ImageLock.read(path)
        if found == nil, mode == .frozen { throw failure("there is no such file, and it is frozen") }
        lock = found ?? ImageLock()
        if mode != .frozen, let problem = ImageLock.obstacle(to: path) { throw failure(problem) }
        if lock.count > 0, lock.ignoredParameters != ignoredParameters {
            let (theirs, ours) = (lock.ignoredParameters ?? "none", ignoredParameters ?? "none")
            throw failure("its URLs lack other query parameters (\(theirs)) than those of this run (\(ours))")
        }
        (self.path, self.mode, self.prunes, self.ignoredParameters) = (path, mode, prunes, ignoredParameters)
        state = Mutex(State(named: prunes ? [Bool](repeating: false, count: lock.count) : []))
    }

    /// Returns the name of a source in the lock: the URL in the normal form of cache keys, without what identifies the
    /// requester. Nil for a source that is not fetched.
    static func name(of source: Source, _ request: RequestOptions) -> String? {
        guard case .network(let resource) = source else { return nil }
        return request.keyText(of: resource.downloadURL)
    }

    /// Returns the hash that an image must have; nil if it may be any. Throws `notLocked` (1009) if the frozen lock lacks
    /// it.
    package func pin(of source: Source, _ request: RequestOptions) throws(KingfisherError) -> ContentHash? {
        guard let name = Self.name(of: source, request) else { return nil }
        guard let row = lock.row(of: name) else {
            if mode == .frozen { throw .requestError(reason: .notLocked(path: path)) }
            return nil
        }
        if prunes { state.withLock { $0.named[row] = true } }
        return mode == .updating ? nil : lock.image(row).hash
    }

    /// Notes the end of an item.
    func note(_ outcome: PrefetchOutcome, _ request: RequestOptions) {
        if case .responseError(reason: .unexpectedContent)? = outcome.error {
            return state.withLock { $0.counts.changed += 1 }
        }
        guard case .success(let source) = outcome.item.source else { return }
        switch outcome.ending {
        case .skipped(let files): if let file = files.first { note(source, request, file.entry.originalContent) }
        case .retrieved(let results):
            for case .success(let image) in results.lazy.map(\.image).prefix(1) {
                note(source, request, image.original)
            }
        case .failed, .notTried: break
        }
    }

    /// Notes an image that was retrieved.
    public func note(_ result: RetrieveImageResult, _ request: RequestOptions) {
        note(result.originalSource, request, result.original)
    }

    private func note(_ source: Source, _ request: RequestOptions, _ original: (digest: Digest, bytes: Int64?)?) {
        guard let name = Self.name(of: source, request) else { return }
        let row = lock.row(of: name)
        // A pin has been compared already.
        if let row, mode != .updating {
            return state.withLock { state in
                state.counts.asLocked += 1
                // Another run that prunes may drop it meanwhile.
                if prunes { state.changes[name] = .add(lock.image(row)) }
            }
        }
        let locked = row.map(lock.image)
        guard let original = original.map({ ImageLock.Image(hash: ContentHash($0.digest), bytes: $0.bytes) }) else {
            return
        }
        state.withLock { state in
            if let locked {
                let isSame = locked.hash == original.hash
                if isSame { state.counts.asLocked += 1 } else { state.counts.changed += 1 }
                if !isSame, mode == .updating { state.changes[name] = .replace(original) }
            } else if state.changes.updateValue(.add(original), forKey: name) == nil {
                state.counts.new += 1
            }
        }
    }

    /// The numbers so far.
    public var counts: Counts { state.withLock { $0.counts } }

    /// Writes the changes. With `isWhole`, the run has named all of its images, so that others may be pruned. Throws
    /// `outputFailed` (4002). Blocks.
    public func finish(isWhole: Bool) throws(KingfisherError) {
        if mode == .frozen { return }
        let (changes, named) = state.withLock { state in
            if prunes, isWhole { state.counts.pruned = state.named.count { !$0 } }
            return (state.changes, isWhole ? state.named : [])
        }
        if changes.isEmpty, named.allSatisfy(\.self) { return }
        // Lines that other processes have added meanwhile are kept.
        try ImageLock.merge(changes, into: path, ignoredParameters: ignoredParameters) { url in
            named.isEmpty || lock.row(of: url).map { named[$0] } ?? true
        }
    }
}
