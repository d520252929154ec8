import Synchronization

/// A counter of work that outlives its caller, so that `shutdown` can wait for it. Each piece of work holds a token.
final class BackgroundWork: Sendable {
    private struct State {
        var running = 0
        var waiters: [UnsafeContinuation<Void, Never>] = []
    }

    final class Token: Sendable {
        private let background: BackgroundWork

        fileprivate init(_ background: BackgroundWork) { self.background = background }

        deinit { background.end() }
    }

    private let state = Mutex(State())

    func begin() -> Token {
        state.withLock { $0.running += 1 }
        return Token(self)
    }

    private func end() {
        let waiters = state.withLock { state -> [UnsafeContinuation<Void, Never>] in
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until no work is left.
    func wait() async {
        await withUnsafeContinuation { continuation in
            let isOver = state.withLock { state in
                if state.running > 0 { state.waiters.append(continuation) }
                return state.running == 0
            }
            if isOver { continuation.resume() }
        }
    }
}
