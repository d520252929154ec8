import KFStorage
import Synchronization

/// The images that were delivered and are still being stored, and the removals in progress. A removal waits for the
/// stores that began before it, because a removed image must not come back.
package final class StoresUnderWay: Sendable {
    /// A token that is held while an image is being stored.
    final class Token: Sendable {
        private let stores: StoresUnderWay
        private let number: UInt64

        fileprivate init(_ stores: StoresUnderWay, _ number: UInt64) {
            self.stores = stores
            self.number = number
        }

        deinit { stores.end(number) }
    }

    /// A removal of one source, or of all of them, until `end`.
    package struct Removal: Sendable {
        fileprivate let number: UInt64
    }

    private struct Waiter {
        /// The removal waits for stores with a lower number.
        let bound: UInt64
        /// The key whose stores the removal waits for; nil means all.
        let key: String?
        let continuation: UnsafeContinuation<Void, Never>
    }

    private struct State {
        var next: UInt64 = 0
        /// The keys of the stores in progress, by number.
        var open: [UInt64: String] = [:]
        var waiters: [Waiter] = []
        /// The keys of the removals in progress; nil means any.
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

    /// Begins a removal. Returns it once all earlier stores of this key, or of any key (nil), are done or have failed.
    package func beginRemoval(of key: String?) async -> Removal {
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

    package func end(_ removal: Removal) { state.withLock { _ = $0.removals.removeValue(forKey: removal.number) } }

    func isBeingRemoved(_ key: String) -> Bool {
        state.withLock { state in state.removals.contains { $0.value == nil || $0.value == key } }
    }
}
