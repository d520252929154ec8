import Dispatch
import Glibc
import Synchronization

extension DiskStorage {
    /// Claims the right to make the one request for a key, among all processes of this machine that use the cache.
    /// False while another process has it; when that one dies, the right is free. Within this process it can be claimed
    /// again and again, and is given up with the last. Processes that can only read fly without asking.
    package func tryEnterFlight(_ key: EntryKey) throws(StorageError) -> Bool { try enter(key) != nil }

    /// What is told of the flight; nil while another process has it.
    private func enter(_ key: EntryKey) throws(StorageError) -> FlightProgress? {
        guard let file = try session.flights() else { return FlightProgress() }
        let maps = !directory.isOnNetwork
        let entry = try flights.withLock { table throws(StorageError) -> (progress: FlightProgress?, beats: Bool) in
            guard let flight = try table.enter(key, file, maps: maps) else { return (nil, false) }
            defer { table.isBeating = true }
            return (flight.progress, !table.isBeating)
        }
        if entry.beats { scheduleBeat() }
        return entry.progress
    }

    package func leaveFlight(_ key: EntryKey) {
        // Cannot fail: entering the flight opened the file.
        let file = try? session.flights()
        flights.withLock { $0.leave(key, file) }
    }

    /// The same right, as an object that gives it up with its end; nil while another process has it.
    package func enterFlight(_ key: EntryKey) throws(StorageError) -> FlightHold? {
        try enter(key).map { FlightHold(self, key, $0) }
    }

    /// Whether no other process has the right to the key.
    func isFree(_ key: EntryKey, _ file: FileLock) throws(StorageError) -> Bool {
        try flights.withLock { table throws(StorageError) in try table.isFree(key, file) }
    }

    private static let beating = DispatchQueue(label: "kf.flights")

    private func scheduleBeat() {
        Self.beating.asyncAfter(deadline: .now() + .seconds(FlightBeat.interval)) { [weak self] in self?.beat() }
    }

    /// A sign of life for every flight, as long as there are any.
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

/// The right to make the one request for a key, given up with the object.
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

    /// Tells the others how much of the body has come.
    package func note(bytes: Int64) { progress.bytes = bytes }
}

/// Partial bodies: what an interrupted transfer leaves, to be resumed later, also in another process.
///
/// To be called in flight for the key (`tryEnterFlight`); only `takePartial` may be called ahead of it, as the body's own
/// lock keeps others away. A miss asks `takePartial`: if there is
/// something, the request goes out with a range from `StagedObject.size` and the facts' validator. When the answer is
/// the rest, it is written behind what is there; when it is the whole body, the object is let go and `beginPartial`
/// starts anew. Without a body to go on with, `beginPartial` takes the place of `stage` wherever the answer has a strong
/// validator and its length is worth it. A finished object is stored like any other. One whose transfer broke off is
/// told `keep()` and let go; one that is let go without that is removed. `kill -9` acts as a `keep()` at the last
/// checkpoint.
extension DiskStorage {
    /// Whether there is anything that `takePartial` could find.
    package var hasPartials: Bool { !session.directory.names(in: "partial").isEmpty }

    /// How many there are and what they take, those that are being written included.
    package var partials: PartialSum { session.directory.partials }

    /// A new file to write a body into that can be resumed. Where that is impossible (another writes the same body) it
    /// is an ordinary one, whose `keep()` does nothing.
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

    /// The partial body of a key, ready to be written on from its last confirmed byte, if the same request made it and
    /// a checkpoint confirms what it holds. Reads and hashes all of it. What is damaged, too old, or of another request
    /// is removed.
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
            // The disk cannot give back what it took: the object goes with its files, and the body comes anew.
            return nil
        }
    }

    /// Removes the partial body of a key, unless it is being written. Says what went, or with `dryRun` would go.
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
