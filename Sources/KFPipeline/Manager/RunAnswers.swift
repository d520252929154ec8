import KFStorage
import KFTerms
import Synchronization

/// What has come of the sources of one run. The run asks none of them again.
///
/// A cache has most images. The others are here, and so are the failures. What was forgotten, because there was too much
/// of it, is asked for again.
package final class RunAnswers: Sendable {
    private struct Name: Hashable {
        let key: Int64
        /// The URL of the source: one key may be given to several.
        let url: RequestURL?
        let pin: ContentHash?

        init(_ key: EntryKey, _ retrieval: Retrieval) {
            self.key = key.id
            url = retrieval.url
            pin = retrieval.pin
        }
    }

    private typealias Answer = Result<RetrieveImageResult, KingfisherError>

    private struct State {
        var entries = RecentValues<Int64>()
        /// The entries of which a source has failed.
        var failed = RecentValues<Int64>()
        /// The entries whose stores are under way, and since when.
        var arriving: [Int64: Timestamp] = [:]
        var young: [Name: Answer] = [:]
        var old: [Name: Answer] = [:]
        var bytes = 0

        mutating func insert(_ answer: Answer, _ name: Name, bytes size: Int) {
            let isFull = young.count >= RunAnswers.most || bytes + size > RunAnswers.mostBytes
            if isFull { (old, young, bytes) = (young, [:], 0) }
            young[name] = answer
            bytes += size
        }
    }

    /// The numbers of answers and of their bytes after which those before them are forgotten.
    private static let most = 8192
    private static let mostBytes = 8 << 20

    private let state = Mutex(State())

    package init() {}

    /// Notes that an entry will be stored as the source has sent it. Others may see it before it counts as confirmed.
    func expect(_ key: EntryKey, now: Timestamp) {
        state.withLock { state in
            // Those whose stores fail are never confirmed.
            if state.arriving.count >= Self.most { state.arriving = [:] }
            state.arriving[key.id] = now
        }
    }

    /// Returns whether an entry is one that is expected.
    func expects(_ entry: Entry) -> Bool {
        state.withLock { $0.arriving[entry.key.id].map { $0 <= entry.created } ?? false }
    }

    /// Notes that an entry is as the source has it: it was just sent, or confirmed.
    func confirm(_ key: EntryKey) {
        state.withLock { state in
            state.entries.insert(key.id)
            state.arriving[key.id] = nil
        }
    }

    func hasConfirmed(_ key: EntryKey) -> Bool { state.withLock { $0.entries.contains(key.id) } }

    /// Notes an image that no cache keeps.
    func note(_ image: RetrieveImageResult, of retrieval: Retrieval) {
        // One that met a lock is tried again.
        guard case .bytes(let bytes, _, nil) = image.content, bytes.count <= Self.mostBytes,
            image.storing.diskError?.isLocked != true
        else { return }
        note(.success(image), retrieval.target, retrieval, bytes: bytes.count)
    }

    /// Notes that the source has failed for good.
    func note(sourceFailure error: KingfisherError, of retrieval: Retrieval) {
        // No source was asked at an open circuit.
        if case .responseError(reason: .circuitOpen) = error { return }
        note(error, retrieval.original, retrieval)
        state.withLock { $0.failed.insert(retrieval.original.id) }
    }

    /// Returns whether a source of the entry has failed, of any URL.
    func hasFailed(_ key: EntryKey) -> Bool { state.withLock { $0.failed.contains(key.id) } }

    /// Notes that the image could not be made of what the source has sent.
    func note(makingFailure error: KingfisherError, of retrieval: Retrieval) {
        note(error, retrieval.target, retrieval)
    }

    private func note(_ error: KingfisherError, _ key: EntryKey, _ retrieval: Retrieval) {
        if !error.isCancellation, !error.isCacheFailure { note(.failure(error), key, retrieval, bytes: 0) }
    }

    private func note(_ answer: Answer, _ key: EntryKey, _ retrieval: Retrieval, bytes: Int) {
        let name = Name(key, retrieval)
        state.withLock { $0.insert(answer, name, bytes: bytes) }
    }

    /// Returns the failure of the source; nil if it has not failed.
    func sourceFailure(of retrieval: Retrieval) -> KingfisherError? {
        if case .failure(let error)? = answer(retrieval.original, retrieval) { error } else { nil }
    }

    /// Returns what has come of the image; nil if its source was not asked, or a cache keeps the image.
    func answer(to retrieval: Retrieval) -> Result<RetrieveImageResult, KingfisherError>? {
        answer(retrieval.target, retrieval)
    }

    private func answer(_ key: EntryKey, _ retrieval: Retrieval) -> Answer? {
        // Most runs have none.
        if state.withLock({ $0.young.isEmpty }) { return nil }
        let name = Name(key, retrieval)
        return state.withLock { $0.young[name] ?? $0.old[name] }
    }
}
