import KFCore
import Support

// What the words of a plan mean to an observer. N is the number of requests that the origin received.
//
// | word       | way of the result | error       | N | first request                         |
// |------------|-------------------|-------------|---|---------------------------------------|
// | memory     | memory            |             | 0 |                                       |
// | disk       | disk, or skipped  |             | 0 |                                       |
// | derive     | derived           |             | 0 |                                       |
// | remote     | remote            |             | 0 |                                       |
// | answer     |                   | 2002 (remembered) | 0 |                                 |
// | refuse     |                   | 3006        | 0 |                                       |
// | stale      | stale             |             | 0 under only-from-cache, otherwise at most one, afterwards |
// | revalidate | by the origin     | by the origin | 1 | conditional, with the headers of the plan |
// | request    | by the origin     | by the origin | 1 | without conditions                    |
//
// "By the origin": a 304 makes the way `revalidated`, a 200 `fetched`. A 404 is an error 2002 that is not remembered. A
// 503, a closed connection and a dead port make the way `stale` if the plan says that the stale entry can serve, and are
// errors otherwise. A connection that the server closes may be tried again, and no request arrives at a dead port.
//
// A dry run says less: it asks no remote, so that an image it announces to be fetched may come from a remote, or be
// revalidated after a remote had it, expired. It does not say whether a stale entry can serve in place of an error. Its
// states correspond to its words: `hit` to memory, disk and derive; `stale` to revalidate and stale; `missing` to
// answer. The words request, remote and refuse are `stale` if the cache has an entry that can be read, and `missing`
// otherwise.

/// What a part of the library says that the next retrieval does.
struct Announcement: Sendable {
    enum Announcer: String { case explain, dryRun = "dry run" }

    let by: Announcer
    let step: RetrievalPlan.Step
    var conditions: [(name: String, value: String)] = []
    var canServeStale = false
    /// The state, of a dry run.
    var state: PrefetchDryRun.State?
    /// The number of requests that the origin received.
    let requests: Int
}

/// What a retrieval did.
struct Deed: Sendable {
    var way: RetrievalWay?
    var identifier = ""
    var error: KingfisherError?
    /// The requests that the origin received.
    var requests: [FaultRequest] = []
}

extension Deed: CustomStringConvertible {
    var description: String {
        var words = [way.map { "\($0)" } ?? "nothing"]
        if let error { words.append("\(error.errorCode)\(error.isRemembered ? " (remembered)" : "")") }
        switch requests.first?.isConditional {
        case nil: break
        case true?: words.append("after a conditional request")
        case false?: words.append("after a plain request")
        }
        return words.joined(separator: " ")
    }
}

extension Announcement {
    /// Returns whether the deed is what was announced for the state.
    func fits(_ deed: Deed, _ state: DecisionState) -> Bool {
        guard requests == 0, isStateRight else { return false }
        let isUnasked = deed.requests.isEmpty
        switch step {
        case .memory: return deed.way == .memory && isUnasked
        case .disk: return deed.way == .disk && isUnasked
        case .derive: return deed.way == .derived && isUnasked
        case .remote: return deed.way == .remote && isUnasked
        case .answer: return deed.error?.isRemembered == true && deed.error?.errorCode == 2002 && isUnasked
        case .refuse: return deed.error?.errorCode == 3006 && isUnasked || mayTakeFromRemote(deed, state)
        case .stale:
            guard deed.way == .stale else { return mayTakeFromRemote(deed, state) }
            if state.usesOnlyCache || state.isOffline { return isUnasked }
            return deed.requests.count <= 1
        case .revalidate:
            if mayTakeFromRemote(deed, state) { return true }
            if state.origin != .dead, deed.requests.first?.isConditional != true { return false }
            for (name, value) in conditions {
                guard state.origin == .dead || deed.requests.first?.header(name) == value else { return false }
            }
            return follows(deed, state, isConditional: true)
        case .request:
            if mayTakeFromRemote(deed, state) { return true }
            if state.origin != .dead, deed.requests.first?.isConditional != false {
                return by == .dryRun && hasRemote(state) && follows(deed, state, isConditional: true)
            }
            return follows(deed, state, isConditional: false)
        }
    }

    /// Whether the state of a dry run corresponds to its word.
    private var isStateRight: Bool {
        switch step {
        case _ where state == nil: true
        case .memory, .disk, .derive: state == .hit
        case .revalidate, .stale: state == .stale
        case .request, .remote, .refuse: state == .stale || state == .missing
        case .answer: state == .missing
        }
    }

    private func hasRemote(_ state: DecisionState) -> Bool { if case .has = state.remote { true } else { false } }

    private func mayTakeFromRemote(_ deed: Deed, _ state: DecisionState) -> Bool {
        by == .dryRun && hasRemote(state) && deed.way == .remote && deed.requests.isEmpty
    }

    /// Returns whether the end is what follows from the origin's behaviour.
    private func follows(_ deed: Deed, _ state: DecisionState, isConditional: Bool) -> Bool {
        let isOnce = deed.requests.count == 1
        switch state.origin {
        case .changed: return deed.way == .fetched && isOnce
        case .confirms: return deed.way == (isConditional ? .revalidated : .fetched) && isOnce
        case .notFound:
            return deed.error?.httpStatus == 404 && deed.error?.isRemembered == false && isOnce
        case .unavailable: return fails(deed, { $0.httpStatus == 503 }) && isOnce
        case .closes: return fails(deed, \.isFailedTransfer) && !deed.requests.isEmpty
        case .dead: return fails(deed, \.isFailedTransfer) && deed.requests.isEmpty
        }
    }

    /// Returns whether an unavailable origin has the announced effect.
    private func fails(_ deed: Deed, _ isRight: (KingfisherError) -> Bool) -> Bool {
        let isServed = deed.way == .stale && deed.error == nil
        let isFailed = deed.error.map(isRight) ?? false
        return by == .dryRun ? isServed || isFailed : canServeStale ? isServed : isFailed
    }
}

extension KingfisherError {
    fileprivate var isFailedTransfer: Bool { (2000..<3000).contains(errorCode) && httpStatus == nil }
}
