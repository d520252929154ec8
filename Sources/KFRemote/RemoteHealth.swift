/// The state of a remote within a run: whether it is asked, and whether it is written to.
///
/// A value that is told every answer and the time. It says what has changed, for the caller to report.
package struct RemoteHealth: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// How a look-up may use the remote.
    package enum Admission: Sendable {
        case ask
        /// Ask in the background whether the remote is back; the look-up goes on without it.
        case probe
        case skip
    }

    enum Kind: Sendable { case entry, object, upload }

    /// A change that users are told.
    package enum Change: Sendable, Equatable {
        /// The remote gets no requests for a while, because it could not be reached, for the stated reason.
        case rests(String)
        /// The remote gets no uploads for a while, because they failed, for the stated reason.
        case uploadsRest(String)
        case isBack
        /// The remote refuses to be read, for the stated reason.
        case refusesReading(String)
        /// The remote refuses to be written to, for the stated reason.
        case refusesWriting(String)
        /// The remote asked for no uploads for that long.
        case asksForRest(Duration)
        /// Some of the users of the remote cannot use a part of it, for the stated reason.
        case excludes(String)
    }

    /// Whether uploads may start.
    package enum UploadGate: Sendable, Equatable {
        case open
        /// Not before `until`: the remote has asked for it, or has failed.
        case paused(until: Instant, isAsked: Bool)
        /// The remote refuses uploads.
        case closed
    }

    /// The number of failures in a row after which a remote rests.
    package static let mostFailures = 3
    /// How long a remote rests.
    package static let rest = Duration.seconds(60)

    private(set) var isReadable = true
    private(set) var isWritable = true
    /// The failures in a row of each kind of request. A remote that has entries and loses every object is no use either.
    private var failures: [Kind: Int] = [:]
    private var restsUntil: Instant?
    private var isProbing = false
    /// The end of a pause of the uploads, and whether the remote has asked for it.
    private var pause: (end: Instant, isAsked: Bool)?

    func isDown(at now: Instant) -> Bool { !isReadable || isResting(at: now) }

    private func isResting(at now: Instant) -> Bool { restsUntil.map { now < $0 } ?? false }

    mutating func admitLookUp(at now: Instant) -> Admission {
        guard isReadable else { return .skip }
        guard restsUntil != nil else { return .ask }
        if isResting(at: now) || isProbing { return .skip }
        isProbing = true
        return .probe
    }

    func uploadGate(at now: Instant) -> UploadGate {
        guard isWritable else { return .closed }
        // After the rest, an upload finds out like a look-up whether the remote is back.
        if let restsUntil, now < restsUntil { return .paused(until: restsUntil, isAsked: false) }
        if let pause, now < pause.end { return .paused(until: pause.end, isAsked: pause.isAsked) }
        return .open
    }

    /// Takes the answer to a request into account.
    mutating func note(_ answer: CacheLayerAnswer, to kind: Kind, at now: Instant) -> Change? {
        switch answer {
        case .done, .exists, .absent, .refusedBlob, .locked:
            failures[kind] = 0
            guard restsUntil != nil else { return nil }
            (restsUntil, isProbing) = (nil, false)
            return .isBack
        case .busy(let span):
            // It answers, so that it is read again.
            failures[kind] = 0
            (restsUntil, isProbing) = (nil, false)
            let isNew = uploadGate(at: now) == .open
            pause = (now + span, true)
            return isNew ? .asksForRest(span) : nil
        case .refused(let reason):
            if kind == .upload {
                defer { isWritable = false }
                return isWritable ? .refusesWriting(reason) : nil
            }
            defer { (isReadable, isWritable) = (false, false) }
            return isReadable ? .refusesReading(reason) : nil
        case .failed(let reason):
            failures[kind, default: 0] += 1
            if kind == .upload {
                guard failures[kind, default: 0] >= Self.mostFailures, uploadGate(at: now) == .open else {
                    return nil
                }
                failures[kind] = 0
                pause = (now + Self.rest, false)
                return .uploadsRest(reason)
            }
            return failures[kind, default: 0] >= Self.mostFailures || isProbing ? beginRest(reason, at: now) : nil
        }
    }

    /// Begins a rest: after failures, or when the remote has shown no sign of work for a while.
    mutating func beginRest(_ reason: String, at now: Instant) -> Change? {
        let wasResting = restsUntil != nil
        failures = [:]
        isProbing = false
        restsUntil = now + Self.rest
        // A probe that failed is no news.
        return wasResting ? nil : .rests(reason)
    }
}
