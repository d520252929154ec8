import Dispatch
import Glibc

extension DiskStorage {
    /// Claims the flight of a key: the right to make its one request, among all processes on this machine that use the
    /// cache (single flight). The claim ends when the returned object is released.
    ///
    /// Returns nil while another process has the flight. It becomes free when that process dies. This process can
    /// claim it repeatedly, except `exclusively`, and holds it until the last claim is given up. Read-only processes make
    /// their requests without a claim.
    package func enterFlight(_ key: EntryKey, exclusively: Bool = false) throws(StorageError) -> FlightHold? {
        try enter(key, exclusively: exclusively).map { FlightHold(self, key, $0) }
    }

    /// Whether this process has the flight of a key.
    package func hasFlight(_ key: EntryKey) -> Bool { flights.withLock { $0.flights[key.id] != nil } }

    /// Claims the flight and returns its progress; nil while it is not to be had.
    func enter(_ key: EntryKey, exclusively: Bool = false) throws(StorageError) -> FlightProgress? {
        let session = session
        guard let file = try session.flights() else { return FlightProgress() }
        let maps = !session.directory.isOnNetwork
        let entry = try flights.withLock { table throws(StorageError) -> (progress: FlightProgress?, beats: Bool) in
            guard let flight = try table.enter(key, file, maps: maps, exclusively: exclusively)
            else { return (nil, false) }
            defer { table.isBeating = true }
            return (flight.progress, !table.isBeating)
        }
        if entry.beats { scheduleBeat() }
        return entry.progress
    }

    func leaveFlight(_ key: EntryKey) {
        // Cannot fail: `enter` opened the file.
        let file = try? session.flights()
        flights.withLock { $0.leave(key, file) }
    }

    func isFree(_ key: EntryKey, _ file: FileLock) throws(StorageError) -> Bool {
        try flights.withLock { table throws(StorageError) in try table.isFree(key, file) }
    }

    private static let beating = DispatchQueue(label: "kf.flights")

    private func scheduleBeat() {
        Self.beating.asyncAfter(deadline: .now() + .seconds(FlightBeat.interval)) { [weak self] in self?.beat() }
    }

    /// Writes a heartbeat for every flight, as long as there are any.
    private func beat() {
        let process = Int64(getpid())
        // Cannot fail: the flights opened the file.
        let file = try? session.flights()
        let beats = flights.withLock { table -> [FlightBeat] in
            if let file { table.letIn(file) }
            table.isBeating = !table.flights.isEmpty
            table.beats += 1
            let beat = table.beats
            return table.flights.map {
                FlightBeat(key: $0.key, process: process, beat: beat, bytes: $0.value.progress.bytes)
            }
        }
        guard !beats.isEmpty else { return }
        if let file { for beat in beats { beat.write(to: file) } }
        scheduleBeat()
    }
}

/// A claimed flight: the right to make the one request for a key. It is given up when the object is released.
package final class FlightHold: Sendable {
    private let storage: DiskStorage
    private let key: EntryKey

    private let progress: FlightProgress

    fileprivate init(_ storage: DiskStorage, _ key: EntryKey, _ progress: FlightProgress) {
        self.storage = storage
        self.key = key
        self.progress = progress
    }

    deinit { storage.leaveFlight(key) }

    /// Records the bytes of the body received so far, for the heartbeat that other processes read.
    package func note(bytes: Int64) { progress.bytes = bytes }
}

/// Partial bodies: the data that an interrupted transfer leaves, to be resumed later by this or another process.
///
/// The caller must hold the flight of the key (`enterFlight`). Only `takePartial` may be called before that, because
/// the body's own lock keeps other processes away.
///
/// A miss calls `takePartial`. If it returns a body, the request asks for a range from `StagedObject.size` with the
/// validator of the facts. When the response is the rest, it is appended. When it is the whole body, the object is
/// released and `beginPartial` starts again.
///
/// Without a partial body, `beginPartial` replaces `stage` if the response has a strong validator and is long enough. A
/// finished object is stored like any other. `keep()` keeps the body of an interrupted transfer; releasing the object
/// without it removes the body. After `kill -9`, the body can be resumed from the last checkpoint.
extension DiskStorage {
    /// Whether there may be a body for `takePartial` to return.
    package var hasPartials: Bool { !session.directory.names(in: "partial").isEmpty }

    /// The number and the bytes of partial bodies, including those that are being written.
    package var partials: PartialSum { session.directory.partials }

    /// Creates a file for a body that can be resumed. When another process writes the same body, returns an ordinary
    /// staged file, whose `keep()` does nothing.
    package func beginPartial(for key: EntryKey, _ facts: PartialFacts) throws(StorageError) -> StagedObject {
        guard !isReadOnly else { throw .readOnly(path: path) }
        let begun: StagedObject? = try remaking { () throws(StorageError) in
            let directory = session.directory
            let body = PartialBody(directory, key)
            guard let files = try directory.restoring({ () throws(StorageError) in try body.begin(facts) }) else {
                return nil
            }
            return StagedObject(directory, partial: body.name, files.body, files.log)
        }
        if let begun { return begun }
        return try stage()
    }

    /// Returns the partial body of a key, positioned after its last confirmed byte. The same request must have made it,
    /// and a checkpoint must confirm its bytes. Reads and hashes all of it. A body that is damaged, too old or from
    /// another request is removed.
    package func takePartial(
        for key: EntryKey, request: Digest
    ) throws(StorageError) -> (object: StagedObject, facts: PartialFacts)? {
        if isReadOnly { return nil }
        let directory = session.directory
        let body = PartialBody(directory, key)
        guard let files = try body.take(request, now: .now()) else { return nil }
        let record = files.record
        let object = StagedObject(directory, partial: body.name, files.body, files.log)
        do {
            return try object.restore(record) ? (object, record.facts) : nil
        } catch {
            // The disk failed to return the bytes. The object goes with its files, and the body is fetched again.
            return nil
        }
    }

    /// Removes the partial body of a key, unless a process is writing it. Returns what was removed, or would be with
    /// `dryRun`.
    package func removePartial(for key: EntryKey, dryRun: Bool = false) throws(StorageError) -> PartialSum {
        var sum = PartialSum()
        let body = PartialBody(session.directory, key)
        guard dryRun || !isReadOnly else { return sum }
        let size = body.size
        if !dryRun { guard try body.remove() else { return sum } }
        if let size { sum.add(size) }
        return sum
    }
}

/// Watches the flight of another process and decides how long to wait for it.
///
/// A process that is stopped, or does not work on the flight, writes no heartbeat; it is waited for as long as for a
/// lock. While heartbeats arrive, its transfer has the limits of one of this process: a limit for a stall and a limit
/// for the whole time.
package struct FlightWatch {
    package enum Sight: Sendable {
        /// The flight is over.
        case free
        case busy
        /// The watcher should stop waiting.
        case stuck
    }

    private let storage: DiskStorage
    private let key: EntryKey
    private let stall: Duration?
    private let end: ContinuousClock.Instant?
    private var lastSign: ContinuousClock.Instant
    private var lastBytes: ContinuousClock.Instant
    private var beat: FlightBeat?

    /// Starts watching. `stall` is the longest span without a byte and `total` the longest wait; nil disables a limit.
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
            // The first heartbeat may belong to a flight that ended long ago.
            if let beat {
                lastSign = now
                if found.bytes != beat.bytes || found.process != beat.process { lastBytes = now }
            }
            beat = found
        }
        if let end, end <= now { return .stuck }
        if let stall, lastBytes + stall <= now { return .stuck }
        // The end of all waits does not count: it would start a request at the very moment at which the run stops.
        return lastSign + storage.patience.limit <= now ? .stuck : .busy
    }
}
