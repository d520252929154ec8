import Dispatch
import Synchronization

/// An in-memory LRU cache, bounded by cost and count, whose values expire. Kingfisher's `MemoryStorage`.
///
/// Every call is O(1), except for sweeps and the removal of several values. It does not use NSCache, which on Linux
/// evicts by cost instead of age.
package final class MemoryStorage<Value: Sendable>: Sendable {
    private struct Contents {
        var configuration: MemoryStorageConfig
        var list = RecencyList()
        var removals: UInt64 = 0
        /// The number of the valid sweep schedule; sweeps planned for an earlier interval have another number.
        var sweep: UInt64 = 0
        var isSweepPlanned = false
        /// The values that were removed and not released yet.
        var removed: [RecencyNode] = []

        mutating func remove(_ key: EntryKey) { if let node = list.remove(key) { removed.append(node) } }

        mutating func remove(where isMeant: (RecencyNode) -> Bool) { removed += list.remove(where: isMeant) }

        /// Evicts the least recently used values until the limits are kept.
        mutating func trim() {
            while list.cost > configuration.totalCostLimit || list.count > configuration.countLimit,
                let node = list.removeOldest()
            {
                removed.append(node)
            }
        }

        /// Returns the sweep to plan now; nil if one is planned or the cache is empty.
        mutating func nextSweep() -> Sweep? {
            if isSweepPlanned || list.count == 0 { return nil }
            isSweepPlanned = true
            return (sweep, configuration.cleanInterval)
        }
    }

    private final class Node: RecencyNode, @unchecked Sendable {
        let value: Value

        init(_ value: Value, key: EntryKey, cost: Int, timeToLive: Int64?, expires: Timestamp) {
            self.value = value
            super.init(key: key, cost: cost, timeToLive: timeToLive, expires: expires)
        }
    }

    private static func value(_ node: RecencyNode) -> Value { unsafeDowncast(node, to: Node.self).value }

    private typealias Sweep = (number: UInt64, interval: Duration)

    private let clock: CacheClock
    private let state: Mutex<Contents>

    package init(configuration: MemoryStorageConfig, clock: CacheClock = .system) {
        self.clock = clock
        state = Mutex(Contents(configuration: configuration))
    }

    /// Changes the contents, keeps the limits, and plans a sweep if one is needed. Removed values are released outside
    /// the lock, because freeing a large bitmap takes long.
    private func change<Result>(_ body: (inout sending Contents) -> sending Result) -> sending Result {
        let (result, removed, sweep) = state.withLock { state in
            let result = body(&state)
            state.trim()
            let removed = state.removed
            state.removed = []
            return (result, removed, state.nextSweep())
        }
        plan(sweep)
        withExtendedLifetime(removed) {}
        return result
    }

    /// The limits and times. New limits evict at once; a new expiration applies to values stored afterwards.
    package var configuration: MemoryStorageConfig {
        get { state.withLock { $0.configuration } }
        set {
            change { state in
                if newValue.cleanInterval != state.configuration.cleanInterval {
                    state.sweep += 1
                    state.isSweepPlanned = false
                }
                state.configuration = newValue
            }
        }
    }

    /// Stores the value and returns whether it was kept. A value is not kept if it is already expired, or if its cost
    /// alone exceeds the cost limit.
    ///
    /// With a count of removals, the value is not kept either if a value was removed on demand since that count.
    @discardableResult
    package func store(
        _ value: Value, for key: EntryKey, cost: Int, expiration: StorageExpiration? = nil,
        unlessRemovedSince removals: UInt64? = nil
    ) -> Bool {
        let now = clock.now()
        return change { state in
            if let removals, removals != state.removals { return false }
            let expiration = expiration ?? state.configuration.expiration
            state.remove(key)
            guard !expiration.isExpired(at: now), cost <= state.configuration.totalCostLimit else { return false }
            state.list.insert(
                Node(
                    value, key: key, cost: cost, timeToLive: expiration.timeToLive(from: now),
                    expires: expiration.expiry(from: now)))
            return true
        }
    }

    /// Changes the cost of a value that has grown. Returns false without a change if the value is gone, or if the cost
    /// alone exceeds the cost limit.
    package func setCost(_ cost: Int, of key: EntryKey, where isSame: @Sendable (Value) -> Bool) -> Bool {
        change { state in
            guard cost <= state.configuration.totalCostLimit, let node = state.list[key], isSame(Self.value(node))
            else { return false }
            state.list.setCost(cost, of: node)
            return true
        }
    }

    /// Returns the value if it is fresh. A read makes it the most recently used value and extends its expiry.
    package func value(for key: EntryKey, extending: ExpirationExtending = .cacheTime) -> Value? {
        let now = clock.now()
        return state.withLock { state in
            guard let node = state.list[key] else { return nil }
            guard node.expires > now else {
                _ = state.list.remove(key)
                return nil
            }
            node.expires = extending.expiry(after: now, timeToLive: node.timeToLive, current: node.expires)
            state.list.renew(node)
            return Self.value(node)
        }
    }

    /// Returns whether a fresh value is cached. Does not count as a use.
    package func isCached(_ key: EntryKey) -> Bool {
        let now = clock.now()
        return state.withLock { $0.list[key].map { $0.expires > now } ?? false }
    }

    /// The number of removals on demand. A value that was read elsewhere before the last removal must not be stored.
    package var removals: UInt64 { state.withLock { $0.removals } }

    package func remove(_ key: EntryKey) {
        change { state in
            state.removals += 1
            state.remove(key)
        }
    }

    /// Removes the values of matching keys; checks all keys.
    package func remove(where isMeant: @Sendable (EntryKey) -> Bool) {
        change { state in
            state.removals += 1
            state.remove { isMeant($0.key) }
        }
    }

    package func removeAll() { remove { _ in true } }

    package func removeExpired() {
        let now = clock.now()
        change { state in state.remove { $0.expires <= now } }
    }

    /// The number of values and the sum of their costs in bytes.
    package var totals: (count: Int, cost: Int) { state.withLock { ($0.list.count, $0.list.cost) } }

    // MARK: Sweeping

    /// Schedules a sweep. A timer also frees the memory of a process that stores nothing more. An empty cache has no
    /// timer.
    private func plan(_ sweep: Sweep?) {
        guard let sweep else { return }
        let interval = max(sweep.interval, .milliseconds(1)) / .seconds(1)
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + interval) { [weak self] in
            self?.carryOut(sweep)
        }
    }

    private func carryOut(_ sweep: Sweep) {
        let now = clock.now()
        change { state in
            guard state.sweep == sweep.number else { return }
            state.isSweepPlanned = false
            state.remove { $0.expires <= now }
        }
    }
}

/// The limits and times of a memory cache. Kingfisher's `MemoryStorage.Config`.
public struct MemoryStorageConfig: Sendable, Equatable {
    /// The limit for the sum of all costs, in bytes. A value that alone costs more is not kept.
    public var totalCostLimit: Int
    /// The limit for the number of images.
    public var countLimit: Int
    /// The expiration of images that are stored without one.
    public var expiration: StorageExpiration
    /// The time between two sweeps that remove expired images; at least a millisecond.
    public var cleanInterval: Duration

    /// Creates a configuration. By default there is no limit of the count, images expire after 300 s, and a sweep runs
    /// every 120 s.
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
