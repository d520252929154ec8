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
