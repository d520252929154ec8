import Dispatch
import Synchronization

/// The flights of this process: the keys that this process requests and no other process requests at the same time
/// (single flight).
///
/// Each flight is an advisory lock on one byte of the file `flights`. A process with at least 16 flights, while no
/// other process has one, holds one exclusive lock on the presence byte instead. A flight then costs no system call.
///
/// A process that arrives later cannot take the presence byte as shared, and writes the first word of the file (it
/// knocks). The first process sees the new word at its next flight or heartbeat, locks the byte of each flight, and
/// makes its presence lock shared.
struct FlightTable {
    struct Flight {
        /// The number of claims on the flight in this process.
        var count = 1
        let progress = FlightProgress()
        /// Whether the flight's own byte is locked.
        fileprivate(set) var isLocked: Bool
    }

    private enum Presence {
        /// The presence byte is not locked.
        case absent
        /// The presence byte is locked as shared, and the byte of every flight exclusively.
        case among
        /// The presence byte is locked exclusively: no other process can have a flight. `knock` is the value of the
        /// first word at that time.
        case alone(MappedWords, knock: Int64)
    }

    /// The fewest flights for an exclusive presence lock. With fewer, the next flight may be far away, and a newcomer
    /// would wait for the heartbeat, up to a second.
    private static let many = 16
    /// The presence byte, beyond the bytes of all keys.
    private static let presenceByte: Int64 = 1 << 62

    private(set) var flights: [Int64: Flight] = [:]
    /// The number of heartbeats so far.
    var beats: Int64 = 0
    var isBeating = false
    private var presence = Presence.absent
    /// The file that `presence` and the locks refer to. A cache that was deleted and recreated has another one.
    private var joined: FileLock?
    /// The number of flights begun; at every 16th the exclusive presence lock is tried.
    private var begun = 0
    /// The exclusive presence lock is not tried before this time, so that a process that has knocked gets in.
    private var nextAlone = ContinuousClock.now
    /// Until this time the exclusive presence lock of another process, which does not respond, is ignored.
    private var intrudes: ContinuousClock.Instant?

    /// How long a process that has knocked gets to take the lock. Longer than the longest pause between two tries
    /// (`FlightClaim`, 50 ms).
    private static let courtesy = Duration.milliseconds(300)

    var isAlone: Bool {
        if case .alone = presence { return true }
        return false
    }

    /// Claims the flight of a key; nil while another process has it, and with `exclusively` while this one has.
    mutating func enter(
        _ key: EntryKey, _ file: FileLock, maps: Bool, exclusively: Bool
    ) throws(StorageError) -> Flight? {
        if let known = flights[key.id] {
            if exclusively { return nil }
            flights[key.id]?.count += 1
            return known
        }
        letIn(file)
        guard try join(file) else { return nil }
        begun &+= 1
        if maps, flights.count >= Self.many, begun % Self.many == 0 { try beAlone(file) }
        if !isAlone, try !file.tryAcquire(.exclusive, byte: Self.byte(key.id)) { return nil }
        let flight = Flight(isLocked: !isAlone)
        flights[key.id] = flight
        return flight
    }

    mutating func leave(_ key: EntryKey, _ file: FileLock?) {
        guard let flight = flights[key.id] else { return }
        if flight.count > 1 {
            flights[key.id]?.count -= 1
            return
        }
        flights[key.id] = nil
        guard let file else { return }
        meet(file)
        if flight.isLocked { file.release(byte: Self.byte(key.id)) }
        letIn(file)
    }

    mutating func isFree(_ key: EntryKey, _ file: FileLock) throws(StorageError) -> Bool {
        if flights[key.id] != nil { return true }
        guard try join(file) else { return false }
        return try file.isFree(byte: Self.byte(key.id))
    }

    /// Makes the presence lock shared when another process has knocked, or when fewer than 16 flights are left.
    mutating func letIn(_ file: FileLock) {
        meet(file)
        guard case .alone(let words, let knock) = presence else { return }
        let hasKnocked = words[0] != knock
        if flights.count >= Self.many, !hasKnocked { return }
        if hasKnocked { nextAlone = .now + Self.courtesy }
        for key in flights.keys where flights[key]?.isLocked == false {
            // No other process can hold the byte. If locking fails nevertheless, another process may request the key
            // too.
            let isLocked = try? file.tryAcquire(.exclusive, byte: Self.byte(key))
            flights[key]?.isLocked = isLocked ?? false
        }
        // fcntl converts the lock in one step: no other process can take it exclusively in between. After a failure the
        // exclusive lock stays, and the next flight tries again.
        presence = .absent
        bestEffort { try join(file) }
    }

    /// Ignores the exclusive presence lock of a process that does not respond, for 10 s.
    mutating func intrude() { if case .absent = presence { intrudes = .now + .seconds(10) } }

    private mutating func meet(_ file: FileLock) {
        guard joined !== file else { return }
        joined = file
        presence = .absent
        for key in flights.keys { flights[key]?.isLocked = false }
    }

    /// Takes the presence byte as shared. If another process holds it exclusively, knocks and returns false.
    private mutating func join(_ file: FileLock) throws(StorageError) -> Bool {
        meet(file)
        guard case .absent = presence else { return true }
        guard try file.tryAcquire(.shared, byte: Self.presenceByte) else {
            if let intrudes, .now < intrudes { return true }
            try file.write(words: [Int64(truncatingIfNeeded: DispatchTime.now().uptimeNanoseconds)])
            return false
        }
        presence = .among
        return true
    }

    private mutating func beAlone(_ file: FileLock) throws(StorageError) {
        guard case .among = presence, .now >= nextAlone else { return }
        // The word is written back so that the file can be mapped: a file that an earlier version made may be empty.
        let knock = try file.read(words: 1)[0]
        try file.write(words: [knock])
        guard let words = file.map(words: 1), try file.tryAcquire(.exclusive, byte: Self.presenceByte) else { return }
        presence = .alone(words, knock: knock)
    }

    private static func byte(_ key: Int64) -> Int64 { key & (.max >> 1) }
}

/// The bytes of a flight's body received so far.
final class FlightProgress: Sendable {
    private let received = Atomic<Int64>(0)

    var bytes: Int64 {
        get { received.load(ordering: .relaxed) }
        set { received.store(newValue, ordering: .relaxed) }
    }
}

/// The heartbeat of a flight, which its process writes once a second for flights that last that long.
///
/// It is stored in the file `flights`, at a place that follows from the key. Of two keys with the same place, one is
/// not visible.
struct FlightBeat: Equatable {
    static let interval = 1
    private static let words = 4
    private static let places = 8192

    let key: Int64
    let process: Int64
    let beat: Int64
    let bytes: Int64

    /// The place of a key. The words before the first place belong to `FlightTable`.
    private static func place(_ key: Int64) -> Int { (Int(UInt64(bitPattern: key) % UInt64(places)) + 1) * words }

    /// Writes the heartbeat. A failure costs another process at most one request.
    func write(to file: FileLock) {
        bestEffort { try file.write(words: [key, process, beat, bytes], from: Self.place(key)) }
    }

    /// Returns the heartbeat of a key; nil when its place holds that of another key.
    static func read(_ key: Int64, from file: FileLock) throws(StorageError) -> FlightBeat? {
        let found = try file.read(words: words, from: place(key))
        guard found[0] == key else { return nil }
        return FlightBeat(key: key, process: found[1], beat: found[2], bytes: found[3])
    }
}
