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
        let entry = try flights.withLock { table throws(StorageError) -> (progress: FlightProgress?, beats: Bool) in
            if let known = table.flights[key.id] {
                table.flights[key.id]?.count += 1
                return (known.progress, false)
            }
            guard try file.tryAcquire(.exclusive, byte: Self.byte(key)) else { return (nil, false) }
            let flight = FlightTable.Flight()
            table.flights[key.id] = flight
            defer { table.isBeating = true }
            return (flight.progress, !table.isBeating)
        }
        if entry.beats { scheduleBeat() }
        return entry.progress
    }

    package func leaveFlight(_ key: EntryKey) {
        flights.withLock { table in
            guard let flight = table.flights[key.id] else { return }
            if flight.count > 1 {
                table.flights[key.id]?.count -= 1
                return
            }
            table.flights[key.id] = nil
            // What was entered was opened.
            _ = Result { () throws(StorageError) in try session.flights()?.release(byte: Self.byte(key)) }
        }
    }

    /// The same right, as an object that gives it up with its end; nil while another process has it.
    package func enterFlight(_ key: EntryKey) throws(StorageError) -> FlightHold? {
        try enter(key).map { FlightHold(self, key, $0) }
    }

    /// Whether no other process has the right to the key.
    func isFree(_ key: EntryKey, _ file: FileLock) throws(StorageError) -> Bool {
        if flights.withLock({ $0.flights[key.id] != nil }) { return true }
        return try file.isFree(byte: Self.byte(key))
    }

    private static func byte(_ key: EntryKey) -> Int64 { key.id & (.max >> 1) }

    private static let beating = DispatchQueue(label: "kf.flights")

    private func scheduleBeat() {
        Self.beating.asyncAfter(deadline: .now() + .seconds(FlightBeat.interval)) { [weak self] in self?.beat() }
    }

    /// A sign of life for every flight, as long as there are any.
    private func beat() {
        let process = Int64(getpid())
        let beats = flights.withLock { table -> [FlightBeat] in
            table.isBeating = !table.flights.isEmpty
            table.beats += 1
            let beat = table.beats
            return table.flights.map {
                FlightBeat(key: $0.key, process: process, beat: beat, bytes: $0.value.progress.bytes)
            }
        }
        guard !beats.isEmpty else { return }
        let file = Result { () throws(StorageError) in try session.flights() }
        if case .success(let file?) = file { for beat in beats { beat.write(to: file) } }
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
