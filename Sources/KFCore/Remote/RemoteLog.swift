import KFStorage
import Synchronization

/// The counts and the messages of a cache's remotes.
final class RemoteLog: Sendable {
    /// Whether a remote that refuses or cannot be reached is an error.
    private let isRequired: Bool
    private let writes: Bool
    /// Whether each image that may not be uploaded is reported.
    private let namesEach: Bool
    private let notice: @Sendable (String) -> Void
    private let state = Mutex(RemoteCounts())
    private let written = Mutex(RemoteCounts())
    private let failure = Mutex<KingfisherError?>(nil)
    private let told = Mutex<Set<String>>([])

    init(isRequired: Bool, writes: Bool, namesEach: Bool, notice: @escaping @Sendable (String) -> Void) {
        self.isRequired = isRequired
        self.writes = writes
        self.namesEach = namesEach
        self.notice = notice
    }

    var counts: RemoteCounts { state.withLock { $0 } }

    /// The error of a required remote; nil when there is none.
    var problem: KingfisherError? { failure.withLock { $0 } }

    /// Returns the counts since the last call, to be written to the disk cache.
    func takeUnwritten() -> RemoteCounts {
        let counts = counts
        return written.withLock { written in
            defer { written = counts }
            return counts.subtracting(written)
        }
    }

    func count(_ what: any WritableKeyPath<RemoteCounts, Int64> & Sendable, _ number: Int = 1) {
        state.withLock { $0[keyPath: what] += Int64(number) }
    }

    /// Reports uploads that were given up at the end of a run.
    func noteDropped(_ number: Int, _ reason: String, of name: String) {
        let text = "\(number) images were not uploaded to the remote \(name): \(reason)"
        guard isRequired else { return notice(text) }
        failure.withLock { $0 = $0 ?? .cacheError(reason: .remoteIsUnavailable(detail: text)) }
    }

    /// Reports something once: the first text of its kind, which is the text itself unless it is given.
    func tellOnce(_ text: String, kind: String? = nil) {
        if told.withLock({ $0.insert(kind ?? text).inserted }) { notice(text) }
    }

    /// Reports an image that may not be uploaded: the first of its kind, or each one.
    func noteNotUploaded(_ text: String, kind: String = "private") {
        if namesEach { notice(text) } else { tellOnce(text, kind: kind) }
    }

    /// Counts a blob that is not what it should be, and reports the first of its kind.
    func noteDamage(_ what: String, of name: String) {
        count(\.errors)
        tellOnce("the remote \(name) has \(what); such images are fetched from their origins")
    }

    /// Reports a change of a remote's health: as the error of a run that requires it, or as a message.
    func note(_ change: RemoteHealth.Change, of name: String) {
        if case .asksForRest = change, !writes { return }
        let text = "the remote \(name) \(change.text)"
        guard isRequired, change.isFatal else { return notice(text) }
        failure.withLock { $0 = $0 ?? .cacheError(reason: .remoteIsUnavailable(detail: text)) }
    }
}

extension RemoteHealth.Change {
    /// The text behind the name of the remote.
    fileprivate var text: String {
        switch self {
        case .rests(let reason): "is not asked for \(RemoteHealth.rest.roundedSeconds) s: \(reason)"
        case .uploadsRest(let reason): "gets no uploads for \(RemoteHealth.rest.roundedSeconds) s: \(reason)"
        case .isBack: "answers again"
        case .refusesReading(let reason): "is not used any more: \(reason)"
        case .refusesWriting(let reason): "gets no more uploads: \(reason)"
        case .asksForRest(let span): "gets no uploads for \(span.roundedSeconds) s, as it asks"
        }
    }

    /// Whether it ends a run that requires the remote.
    fileprivate var isFatal: Bool {
        switch self {
        case .rests, .uploadsRest, .refusesReading, .refusesWriting: true
        case .isBack, .asksForRest: false
        }
    }
}
