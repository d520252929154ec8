import Dispatch
import Synchronization

/// A least-recently-used store in memory, bounded by cost and count, whose values expire. Every call is O(1), except for
/// sweeps and the removal of several values. Kingfisher's `MemoryStorage`, without NSCache (which on Linux evicts by cost,
/// not by age).
package final class MemoryStorage<Value: Sendable>: Sendable {
    private struct State {
        var configuration: MemoryStorageConfig
        var list = RecencyList<Value>()
        var removals: UInt64 = 0
        /// Tells the sweep that is due from those that were planned for another interval.
        var sweep: UInt64 = 0
        var isSweepPlanned = false

        /// Gives back what does not fit into the limits any more.
        mutating func trim() -> [Value] {
            var removed: [Value] = []
            while list.cost > configuration.totalCostLimit || list.count > configuration.countLimit,
                let value = list.removeOldest()
            {
                removed.append(value)
            }
            return removed
        }

        /// The sweep that has to be planned now; nil when one is, or nothing can expire.
        mutating func nextSweep() -> Sweep? {
            if isSweepPlanned || list.count == 0 { return nil }
            isSweepPlanned = true
            return Sweep(number: sweep, interval: configuration.cleanInterval)
        }
    }

    private struct Sweep {
        let number: UInt64
        let interval: Duration
    }

    private let clock: CacheClock
    private let state: Mutex<State>

    package init(configuration: MemoryStorageConfig, clock: CacheClock = .system) {
        self.clock = clock
        state = Mutex(State(configuration: configuration))
    }

    /// Limits and times; what exceeds new limits goes at once. A new expiration is for what is stored from then on.
    package var configuration: MemoryStorageConfig {
        get { state.withLock { $0.configuration } }
        set {
            let (removed, sweep) = state.withLock { state in
                if newValue.cleanInterval != state.configuration.cleanInterval {
                    state.sweep += 1
                    state.isSweepPlanned = false
                }
                state.configuration = newValue
                return (state.trim(), state.nextSweep())
            }
            plan(sweep)
            withExtendedLifetime(removed) {}
        }
    }

    /// Keeps the value unless it would expire at once or costs more than everything together may; with a count of removals,
    /// unless there has been another since. False when it is not kept.
    @discardableResult
    package func store(
        _ value: Value, for key: EntryKey, cost: Int, expiration: StorageExpiration? = nil,
        unlessRemovedSince removals: UInt64? = nil
    ) -> Bool {
        let now = clock.now()
        // Values leave the lock before they are released: a large bitmap takes its time to free.
        let (isKept, removed, sweep) = state.withLock { state -> (Bool, [Value], Sweep?) in
            if let removals, removals != state.removals { return (false, [], nil) }
            let expiration = expiration ?? state.configuration.expiration
            var removed = state.list.remove(key).map { [$0] } ?? []
            guard !expiration.isExpired(at: now), cost <= state.configuration.totalCostLimit else {
                return (false, removed, nil)
            }
            state.list.insert(
                value, for: key, cost: cost, timeToLive: expiration.timeToLive(from: now),
                expires: expiration.expiry(from: now))
            removed += state.trim()
            return (true, removed, state.nextSweep())
        }
        plan(sweep)
        withExtendedLifetime(removed) {}
        return isKept
    }

    /// Changes the cost of a value that has grown. False, and nothing is changed, when the value is gone, or would cost
    /// more than everything together may.
    package func setCost(_ cost: Int, of key: EntryKey, where isSame: @Sendable (Value) -> Bool) -> Bool {
        let (isChanged, removed) = state.withLock { state -> (Bool, [Value]) in
            guard cost <= state.configuration.totalCostLimit, state.list.setCost(cost, of: key, where: isSame) else {
                return (false, [])
            }
            return (true, state.trim())
        }
        withExtendedLifetime(removed) {}
        return isChanged
    }

    /// The value if it is fresh; reading makes it the newest and extends its expiry.
    package func value(for key: EntryKey, extending: ExpirationExtending = .cacheTime) -> Value? {
        let now = clock.now()
        return state.withLock { state in
            state.list.use(key) { node in
                guard node.expires > now else { return false }
                node.expires = extending.expiry(after: now, timeToLive: node.timeToLive, current: node.expires)
                return true
            }
        }
    }

    /// Whether a fresh value is there; changes nothing.
    package func isCached(_ key: EntryKey) -> Bool {
        let now = clock.now()
        return state.withLock { $0.list.expiry(of: key).map { $0 > now } ?? false }
    }

    /// How often values have been removed on demand: what was read elsewhere before the last time is not to be stored.
    package var removals: UInt64 { state.withLock { $0.removals } }

    package func remove(_ key: EntryKey) {
        let removed = state.withLock { state in
            state.removals += 1
            return state.list.remove(key)
        }
        withExtendedLifetime(removed) {}
    }

    /// Looks at all keys.
    package func remove(where isMeant: @Sendable (EntryKey) -> Bool) {
        let removed = state.withLock { state in
            state.removals += 1
            return state.list.remove(where: isMeant)
        }
        withExtendedLifetime(removed) {}
    }

    package func removeAll() {
        let removed = state.withLock { state in
            state.removals += 1
            let list = state.list
            state.list = RecencyList()
            return list
        }
        withExtendedLifetime(removed) {}
    }

    package func removeExpired() {
        let now = clock.now()
        let removed = state.withLock { $0.list.sweep(now) }
        withExtendedLifetime(removed) {}
    }

    /// Number of values and the sum of their costs in bytes.
    package var totals: (count: Int, cost: Int) { state.withLock { ($0.list.count, $0.list.cost) } }

    // MARK: Sweeping

    /// A timer, because a process that stores nothing more has to free its memory too. Where nothing is kept there is none.
    private func plan(_ sweep: Sweep?) {
        guard let sweep else { return }
        let interval = max(sweep.interval, .milliseconds(1)) / .seconds(1)
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + interval) { [weak self] in
            self?.carryOut(sweep)
        }
    }

    private func carryOut(_ sweep: Sweep) {
        let now = clock.now()
        let (removed, next) = state.withLock { state -> ([Value], Sweep?) in
            guard state.sweep == sweep.number else { return ([], nil) }
            state.isSweepPlanned = false
            return (state.list.sweep(now), state.nextSweep())
        }
        plan(next)
        withExtendedLifetime(removed) {}
    }
}

/// What a memory cache may hold, and for how long. Kingfisher's `MemoryStorage.Config`.
public struct MemoryStorageConfig: Sendable, Equatable {
    /// In bytes: the sum of the costs of what is kept. What costs more than this alone is not kept.
    public var totalCostLimit: Int
    /// How many images are kept.
    public var countLimit: Int
    /// How long an image counts as fresh when its store does not say.
    public var expiration: StorageExpiration
    /// The time between two sweeps that free what has expired; at least a millisecond.
    public var cleanInterval: Duration

    /// No limit of the count, 300 s, and a sweep every 120 s.
    public init(
        totalCostLimit: Int, countLimit: Int = .max, expiration: StorageExpiration = .seconds(300),
        cleanInterval: Duration = .seconds(120)
    ) {
        self.totalCostLimit = totalCostLimit
        self.countLimit = countLimit
        self.expiration = expiration
        self.cleanInterval = cleanInterval
    }
}
