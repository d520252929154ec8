import KFCore
import Support

/// What a part of the library says that the next retrieval does.
struct Announcement: Sendable {
    enum Announcer: String { case explain, dryRun = "dry run" }

    let by: Announcer
    let step: RetrievalPlan.Step
    var conditions: [(name: String, value: String)] = []
    var canServeStale = false
    /// The state, of a dry run.
    var state: PrefetchDryRun.State?
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

extension Deed {
    /// The deed in the words of plans.
    func word(_ state: DecisionState) -> String {
        if error?.isLeftOut == true, requests.isEmpty { return "leave_out" }
        if error?.isRemembered == true { return "answer" }
        if error?.errorCode == 3006 { return "refuse" }
        switch way {
        case .memory?, .disk?, .remote?: return way?.rawValue ?? ""
        case .derived?: return requests.isEmpty ? "derive" : "revalidate"
        case .stale? where state.usesOnlyCache || state.isOffline: return "stale"
        default: break
        }
        guard let first = requests.first else { return way == .stale ? "stale" : "request" }
        return first.isConditional ? "revalidate" : "request"
    }
}

extension Announcement {
    /// Returns whether the deed is what was announced for the state.
    func fits(_ deed: Deed, _ state: DecisionState) -> Bool {
        guard isStateRight else { return false }
        let isUnasked = deed.requests.isEmpty
        switch step {
        case .memory: return deed.way == .memory && isUnasked
        case .disk: return (deed.way == .disk || by == .dryRun && deed.way == .memory) && isUnasked
        case .derive: return deed.way == .derived && isUnasked
        case .leaveOut: return deed.error?.isLeftOut == true && isUnasked
        case .remote: return deed.way == .remote && isUnasked
        case .answer: return deed.error?.isRemembered == true && deed.error?.errorCode == 2002 && isUnasked
        case .refuse: return deed.error?.errorCode == 3006 && isUnasked || mayTakeFromRemote(deed, state)
        case .stale:
            guard deed.way == .stale else { return mayTakeFromRemote(deed, state) }
            if state.usesOnlyCache || state.isOffline { return isUnasked }
            return deed.requests.count <= 1 || state.origin == .closes
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
        case .memory, .disk, .derive, .stale: state == .hit
        case .leaveOut: state == .leftOut
        case .revalidate: state == .stale
        case .request, .remote, .refuse: state == .stale || state == .missing
        case .answer: state == .missing
        }
    }

    private func hasRemote(_ state: DecisionState) -> Bool { if case .has = state.remote { true } else { false } }

    /// Whether the dry run could not know the end, because it follows from the content of a remote.
    private func mayTakeFromRemote(_ deed: Deed, _ state: DecisionState) -> Bool {
        guard by == .dryRun, hasRemote(state), deed.requests.isEmpty else { return false }
        return deed.way == .remote || deed.error?.isLeftOut == true
    }

    /// Returns whether the end is what follows from the origin's behaviour.
    private func follows(_ deed: Deed, _ state: DecisionState, isConditional: Bool) -> Bool {
        let isOnce = deed.requests.count == 1
        switch state.origin {
        case .changed where state.filters, .confirms where state.filters:
            return deed.error?.isLeftOut == true && isOnce
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
        // A stale image may be left out as well.
        let isFailed = deed.error.map { isRight($0) || $0.isLeftOut } ?? false
        return by == .dryRun ? isServed || isFailed : canServeStale ? isServed : isFailed
    }
}

extension KingfisherError {
    fileprivate var isFailedTransfer: Bool { (2000..<3000).contains(errorCode) && httpStatus == nil }
}
