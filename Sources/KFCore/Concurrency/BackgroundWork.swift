import Synchronization

/// Work that nobody waits for until the end of all use.
final class BackgroundWork: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var ended: Set<Int> = []
        var next = 0
    }

    private let state = Mutex(State())

    @discardableResult
    func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        let task = Task { [self] in
            await work()
            state.withLock { state in
                // It may end before it is entered.
                if state.tasks.removeValue(forKey: number) == nil { state.ended.insert(number) }
            }
        }
        state.withLock { state in
            if state.ended.remove(number) == nil { state.tasks[number] = task }
        }
        return task
    }

    /// Returns when all that was started by now has ended.
    func finish() async {
        for task in state.withLock({ Array($0.tasks.values) }) { await task.value }
    }
}
