import KFStorage
import Synchronization

/// The images of a cache that have been given out and are still being stored, and the removals. A removal waits for the
/// stores that began before it: what it removes must not come back.
final class StoresUnderWay: Sendable {
    /// Lasts as long as an image is being stored.
    final class Token: Sendable {
        private let stores: StoresUnderWay
        private let number: UInt64

        fileprivate init(_ stores: StoresUnderWay, _ number: UInt64) {
            self.stores = stores
            self.number = number
        }

        deinit { stores.end(number) }
    }

    /// A removal of one source, or of any, until it is ended.
    struct Removal: Sendable {
        fileprivate let number: UInt64
    }

    private struct Waiter {
        /// Waits for those with a lower number.
        let bound: UInt64
        /// Nil waits for all of them.
        let key: String?
        let continuation: UnsafeContinuation<Void, Never>
    }

    private struct State {
        var next: UInt64 = 0
        /// Their keys.
        var open: [UInt64: String] = [:]
        var waiters: [Waiter] = []
        /// The keys of the removals under way; nil is any.
        var removals: [UInt64: String?] = [:]

        mutating func number() -> UInt64 {
            defer { next += 1 }
            return next
        }

        func hasOpen(before bound: UInt64, _ key: String?) -> Bool {
            open.contains { $0.key < bound && (key == nil || $0.value == key) }
        }
    }

    private let state = Mutex(State())

    func begin(_ key: String) -> Token {
        let number = state.withLock { state in
            let number = state.number()
            state.open[number] = key
            return number
        }
        return Token(self, number)
    }

    private func end(_ number: UInt64) {
        let ready = state.withLock { state -> [Waiter] in
            state.open[number] = nil
            if state.waiters.isEmpty { return [] }
            let waiters = state.waiters
            state.waiters = waiters.filter { state.hasOpen(before: $0.bound, $0.key) }
            return waiters.filter { !state.hasOpen(before: $0.bound, $0.key) }
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Returns when what is being stored now, under this key or (nil) any, is stored or has failed.
    func beginRemoval(of key: String?) async -> Removal {
        let removal = state.withLock { state in
            let number = state.number()
            state.removals[number] = .some(key)
            return Removal(number: number)
        }
        await withUnsafeContinuation { continuation in
            let isOver = state.withLock { state in
                guard state.hasOpen(before: removal.number, key) else { return true }
                state.waiters.append(Waiter(bound: removal.number, key: key, continuation: continuation))
                return false
            }
            if isOver { continuation.resume() }
        }
        return removal
    }

    func end(_ removal: Removal) { state.withLock { _ = $0.removals.removeValue(forKey: removal.number) } }

    func isBeingRemoved(_ key: String) -> Bool {
        state.withLock { state in state.removals.contains { $0.value == nil || $0.value == key } }
    }
}
