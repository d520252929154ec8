import KFCore
import Synchronization

/// The lists that are worked off one after the other, until somebody ends it.
final class ListQueue: Sendable {
    private struct State {
        var rest: ArraySlice<String>
        var current: PrefetchList?
        var isEnded = false
    }

    private let state: Mutex<State>

    init(_ paths: [String]) { state = Mutex(State(rest: paths[...])) }

    /// Opens the next list; nil when there is none, or no more are wanted.
    func next() throws(KingfisherError) -> PrefetchList? {
        let path = state.withLock { $0.isEnded ? nil : $0.rest.popFirst() }
        guard let path else { return nil }
        let list = try PrefetchList(path: path)
        state.withLock { $0.current = list }
        return list
    }

    /// Ends it; gives back the list that is being worked off.
    func end() -> PrefetchList? {
        state.withLock { state in
            state.isEnded = true
            return state.current
        }
    }
}
