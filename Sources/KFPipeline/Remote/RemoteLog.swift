import KFRemote
import KFStorage
import KFTerms
import Synchronization

/// The counts and the messages of a cache's remotes.
package final class RemoteLog: Sendable {
    private let configuration: ImageCache.Configuration
    private let notes = Mutex(Notes())

    private struct Notes {
        var counts = RemoteCounts()
        /// The counts that are in the disk cache.
        var written = RemoteCounts()
        var problem: KingfisherError?
        /// The kinds of messages that have been reported.
        var told: Set<String> = []
    }

    init(_ configuration: ImageCache.Configuration) { self.configuration = configuration }

    var counts: RemoteCounts { notes.withLock { $0.counts } }

    /// The error of a required remote; nil when there is none.
    var problem: KingfisherError? { notes.withLock { $0.problem } }

    /// Returns the counts since the last call, to be written to the disk cache.
    func takeUnwritten() -> RemoteCounts {
        notes.withLock { notes in
            defer { notes.written = notes.counts }
            return notes.counts.subtracting(notes.written)
        }
    }

    func count(_ what: any WritableKeyPath<RemoteCounts, Int64> & Sendable, _ number: Int = 1) {
        notes.withLock { $0.counts[keyPath: what] += Int64(number) }
    }

    /// Counts uploads that were given up, and tells the program of each.
    func drop(_ uploads: [RemoteUpload]) {
        guard !uploads.isEmpty else { return }
        count(\.dropped, uploads.count)
        for upload in uploads { configuration.didDropUpload(upload.source) }
    }

    /// Reports uploads that were given up at the end of a run.
    func noteDropped(_ number: Int, _ reason: String, of name: String) {
        let what = number == 1 ? "1 image was" : "\(number) images were"
        fail("\(what) not uploaded to the remote \(name): \(reason)", isFatal: true)
    }

    /// Reports something once: the first text of its kind, which is the text itself unless it is given.
    func tellOnce(_ text: String, kind: String? = nil) {
        if notes.withLock({ $0.told.insert(kind ?? text).inserted }) { configuration.notice(text) }
    }

    /// Reports an image that may not be uploaded: the first of its kind, or each one.
    func noteNotUploaded(_ text: String, kind: String = "private") {
        if configuration.namesImagesNotUploaded { configuration.notice(text) } else { tellOnce(text, kind: kind) }
    }

    /// Counts a blob that is not what it should be, and reports the first of its kind.
    func noteDamage(_ what: String, at location: String, of name: String) {
        count(\.errors)
        tellOnce(
            "the remote \(name) has \(what) at \(location); such images are not taken from there",
            kind: "\(name) has \(what)")
    }

    /// Reports a change of a remote's health: as the error of a run that requires it, or as a message.
    func note(_ change: RemoteHealth.Change, of name: String) {
        if case .asksForRest = change, !configuration.writesToRemote { return }
        let text = "the remote \(name) \(change.text)"
        // A server that limits the rate asks again and again.
        if case .asksForRest = change { return tellOnce(text, kind: "\(name) asks for a rest") }
        if case .excludes = change { return tellOnce(text, kind: "\(name) excludes users") }
        fail(text, isFatal: change != .isBack)
    }

    private func fail(_ text: String, isFatal: Bool) {
        guard configuration.requiresRemotes, isFatal else { return configuration.notice(text) }
        notes.withLock { $0.problem = $0.problem ?? .cacheError(reason: .remoteIsUnavailable(detail: text)) }
    }
}

extension RemoteHealth.Change {
    fileprivate var text: String {
        switch self {
        case .rests(let reason): "is not asked for \(RemoteHealth.rest.roundedSeconds) s: \(reason)"
        case .uploadsRest(let reason): "gets no uploads for \(RemoteHealth.rest.roundedSeconds) s: \(reason)"
        case .isBack: "answers again"
        case .refusesReading(let reason): "is not used any more: \(reason)"
        case .refusesWriting(let reason): "gets no more uploads: \(reason)"
        case .asksForRest(let span): "gets no uploads for \(span.roundedSeconds) s, as it asks"
        case .excludes(let reason): "shuts users out: \(reason)"
        }
    }
}
