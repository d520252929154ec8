import Synchronization

/// A least-recently-used store in memory, bounded by cost and count, whose values expire. Every call is O(1), the
/// sweep apart. Kingfisher's `MemoryStorage`, without NSCache (which on Linux evicts by cost, not by age).
package final class MemoryStorage<Value: Sendable>: Sendable {
    package struct Configuration: Sendable {
        /// The sum of the costs, in bytes, that is kept.
        package var totalCostLimit: Int
        package var countLimit: Int
        package var expiration: StorageExpiration
        /// In milliseconds: how often `store` looks for expired values.
        package var cleanInterval: Int64

        package init(
            totalCostLimit: Int, countLimit: Int = .max, expiration: StorageExpiration = .seconds(300),
            cleanInterval: Int64 = 120_000
        ) {
            self.totalCostLimit = totalCostLimit
            self.countLimit = countLimit
            self.expiration = expiration
            self.cleanInterval = cleanInterval
        }
    }

    private struct State {
        var list = RecencyList<Value>()
        var swept: Timestamp

        /// Removes the least recently used values until the limits are kept, and gives them back.
        mutating func trim(to configuration: Configuration) -> [Value] {
            var removed: [Value] = []
            while list.cost > configuration.totalCostLimit || list.count > configuration.countLimit,
                let value = list.removeOldest()
            {
                removed.append(value)
            }
            return removed
        }
    }

    private let configuration: Configuration
    private let clock: CacheClock
    private let state: Mutex<State>

    package init(configuration: Configuration, clock: CacheClock = .system) {
        self.configuration = configuration
        self.clock = clock
        state = Mutex(State(swept: clock.now()))
    }

    /// Keeps the value unless it would expire at once or costs more than everything together may: false.
    @discardableResult
    package func store(_ value: Value, for key: EntryKey, cost: Int, expiration: StorageExpiration? = nil) -> Bool {
        let expiration = expiration ?? configuration.expiration
        let now = clock.now()
        // Values leave the lock before they are released: a large bitmap takes its time to free.
        let (isKept, removed) = state.withLock { state -> (Bool, [Value]) in
            var removed = state.list.remove(key).map { [$0] } ?? []
            // Also when the clock was set back.
            if now.since(state.swept) >= configuration.cleanInterval || now < state.swept {
                removed += state.list.sweep(now)
                state.swept = now
            }
            guard !expiration.isExpired(at: now), cost <= configuration.totalCostLimit else { return (false, removed) }
            state.list.insert(
                value, for: key, cost: cost, timeToLive: expiration.timeToLive(from: now),
                expires: expiration.expiry(from: now))
            removed += state.trim(to: configuration)
            return (true, removed)
        }
        withExtendedLifetime(removed) {}
        return isKept
    }

    /// Changes the cost of a value that has grown. False, and nothing is changed, when the value is gone, or would cost
    /// more than everything together may.
    package func setCost(_ cost: Int, of key: EntryKey, where isSame: @Sendable (Value) -> Bool) -> Bool {
        let (isChanged, removed) = state.withLock { state -> (Bool, [Value]) in
            guard cost <= configuration.totalCostLimit, state.list.setCost(cost, of: key, where: isSame) else {
                return (false, [])
            }
            return (true, state.trim(to: configuration))
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

    package func remove(_ key: EntryKey) {
        let removed = state.withLock { $0.list.remove(key) }
        withExtendedLifetime(removed) {}
    }

    package func removeAll() {
        let removed = state.withLock { state in
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
}
