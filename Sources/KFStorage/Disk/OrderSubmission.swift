import Synchronization

/// Groups of orders on their way through the `IndexWriter`, with one completion for all of them.
final class OrderSubmission: Sendable {
    typealias Completion = @Sendable ([[IndexOrder.Outcome]]) -> Void

    private struct State {
        var outcomes: [[IndexOrder.Outcome]]
        var left: Int
    }

    let groups: [[IndexOrder]]
    /// When they were submitted.
    let time: Timestamp
    private let completion: Completion
    private let state: Mutex<State>

    /// There must be a group at least.
    init(_ groups: [[IndexOrder]], at time: Timestamp, completion: @escaping Completion) {
        self.groups = groups
        self.time = time
        self.completion = completion
        state = Mutex(State(outcomes: [[IndexOrder.Outcome]](repeating: [], count: groups.count), left: groups.count))
    }

    /// The group of this number is committed or has failed. The last one completes the submission.
    func finish(_ group: Int, _ outcomes: [IndexOrder.Outcome]) {
        let all = state.withLock { state -> [[IndexOrder.Outcome]]? in
            state.outcomes[group] = outcomes
            state.left -= 1
            guard state.left == 0 else { return nil }
            defer { state.outcomes = [] }
            return state.outcomes
        }
        if let all { completion(all) }
    }
}
