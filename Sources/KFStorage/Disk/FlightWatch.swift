/// Watches the flight of another process, and says how long it is worth waiting for.
///
/// A process that is stopped, or does nothing for the flight, gives no sign of life: it is waited for as long as for a
/// lock. While it gives signs of life, its transfer is judged as one of this process would be: by the span that brings
/// nothing, and by the whole time that it takes.
package struct FlightWatch {
    package enum Sight: Sendable {
        /// The flight is over.
        case free
        case busy
        /// Not to be waited for any longer.
        case stuck
    }

    private let storage: DiskStorage
    private let key: EntryKey
    private let stall: Duration?
    private let end: ContinuousClock.Instant?
    private var lastSign: ContinuousClock.Instant
    private var lastBytes: ContinuousClock.Instant
    private var beat: FlightBeat?

    /// `stall`: the longest span without a byte; `total`: the longest wait. Nil is no limit.
    package init(
        _ storage: DiskStorage, _ key: EntryKey, stall: Duration?, total: Duration?,
        now: ContinuousClock.Instant = .now
    ) {
        self.storage = storage
        self.key = key
        self.stall = stall
        end = total.map { now + $0 }
        lastSign = now
        lastBytes = now
    }

    package mutating func look(at now: ContinuousClock.Instant = .now) throws(StorageError) -> Sight {
        let sight = try see(at: now)
        if case .stuck = sight { storage.flights.withLock { $0.intrude() } }
        return sight
    }

    private mutating func see(at now: ContinuousClock.Instant) throws(StorageError) -> Sight {
        guard let flights = try storage.session.flights(), try !storage.isFree(key, flights) else { return .free }
        if let found = try FlightBeat.read(key.id, from: flights), found != beat {
            // The first one may be of a flight that ended long ago.
            if let beat {
                lastSign = now
                if found.bytes != beat.bytes || found.process != beat.process { lastBytes = now }
            }
            beat = found
        }
        if let end, end <= now { return .stuck }
        if let stall, lastBytes + stall <= now { return .stuck }
        return storage.patience.deadline(from: lastSign) <= now ? .stuck : .busy
    }
}
