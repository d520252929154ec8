import Dispatch
import Synchronization

/// The flights of this process: keys that it requests, and that no other process requests meanwhile.
///
/// Each is a lock on a byte of the file of flights. A process with many flights that is alone with the file locks the
/// whole of it instead, which costs an image nothing. Another process that comes then knocks: it writes the file's first
/// word. The one that is alone sees this with its next flight or sign of life, locks each of its flights, and lets it in.
struct FlightTable {
    struct Flight {
        /// How many of this process hold it.
        var count = 1
        /// Of its body.
        let progress = FlightProgress()
        /// Its byte is locked: others see it.
        fileprivate(set) var isLocked: Bool
    }

    private enum Presence {
        case absent
        /// Every flight is locked.
        case among
        /// Nobody else can have a flight. The words are the file's, the number what the first was.
        case alone(MappedWords, knock: Int64)
    }

    /// From so many flights on it is worth being alone. With fewer, somebody who knocks might wait for the next beat.
    private static let many = 16
    /// Behind every byte that is a key's.
    private static let presenceByte: Int64 = 1 << 62

    private(set) var flights: [Int64: Flight] = [:]
    /// Grows with each sign of life.
    var beats: Int64 = 0
    var isBeating = false
    private var presence = Presence.absent
    /// What `presence` and the locks are of: a cache that is deleted and made anew has another file.
    private var joined: FileLock?
    /// Flights begun, to ask now and then whether nobody else is there any more.
    private var begun = 0
    /// Not alone again before: whoever has knocked tries again in the meantime.
    private var nextAlone = ContinuousClock.now
    /// Until then the file is used although another process, which does not answer, has it for itself.
    private var intrudes: ContinuousClock.Instant?

    /// Longer than anybody pauses between two tries.
    private static let courtesy = Duration.milliseconds(300)

    var isAlone: Bool {
        if case .alone = presence { return true }
        return false
    }

    /// Nil while another process has the key.
    mutating func enter(_ key: EntryKey, _ file: FileLock, maps: Bool) throws(StorageError) -> Flight? {
        if let known = flights[key.id] {
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

    /// Whether no other process has the key.
    mutating func isFree(_ key: EntryKey, _ file: FileLock) throws(StorageError) -> Bool {
        if flights[key.id] != nil { return true }
        guard try join(file) else { return false }
        return try file.isFree(byte: Self.byte(key.id))
    }

    /// Lets the others in when one has knocked, or when so few flights are left that the next one may be far.
    mutating func letIn(_ file: FileLock) {
        meet(file)
        guard case .alone(let words, let knock) = presence else { return }
        let hasKnocked = words[0] != knock
        if flights.count >= Self.many, !hasKnocked { return }
        if hasKnocked { nextAlone = .now + Self.courtesy }
        for key in flights.keys where flights[key]?.isLocked == false {
            // Nobody else can have it. What cannot be locked all the same, another process may request as well.
            let isLocked = try? file.tryAcquire(.exclusive, byte: Self.byte(key))
            flights[key]?.isLocked = isLocked ?? false
        }
        // The one lock becomes the other in one step: nobody can be alone in between.
        presence = .absent
        _ = try? join(file)
    }

    /// The process that is alone with the file does not answer; for some seconds this one goes on as if it were not.
    mutating func intrude() { if case .absent = presence { intrudes = .now + .seconds(10) } }

    private mutating func meet(_ file: FileLock) {
        guard joined !== file else { return }
        joined = file
        presence = .absent
        for key in flights.keys { flights[key]?.isLocked = false }
    }

    /// False while another process is alone with the file; it is told that somebody waits.
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
        // Written, as the file may be empty yet.
        let knock = try file.read(words: 1)[0]
        try file.write(words: [knock])
        guard let words = file.map(words: 1), try file.tryAcquire(.exclusive, byte: Self.presenceByte) else { return }
        presence = .alone(words, knock: knock)
    }

    private static func byte(_ key: Int64) -> Int64 { key & (.max >> 1) }
}

/// Bytes that have come so far.
final class FlightProgress: Sendable {
    private let received = Atomic<Int64>(0)

    var bytes: Int64 {
        get { received.load(ordering: .relaxed) }
        set { received.store(newValue, ordering: .relaxed) }
    }
}

/// What the holder of a flight lets other processes know, once a second and only of flights that last that long. It stands
/// in the file of flights, at a place that follows from the key; of two keys with the same place one is not seen.
struct FlightBeat: Equatable {
    static let interval = 1
    private static let words = 4
    private static let places = 8192

    let key: Int64
    let process: Int64
    let beat: Int64
    let bytes: Int64

    /// The words ahead of the first place are `FlightTable`'s.
    private static func place(_ key: Int64) -> Int { (Int(UInt64(bitPattern: key) % UInt64(places)) + 1) * words }

    /// A sign of life that cannot be written costs another process a request.
    func write(to file: FileLock) {
        _ = Result { () throws(StorageError) in
            try file.write(words: [key, process, beat, bytes], from: Self.place(key))
        }
    }

    /// Nil when the place is another key's.
    static func read(_ key: Int64, from file: FileLock) throws(StorageError) -> FlightBeat? {
        let found = try file.read(words: words, from: place(key))
        guard found[0] == key else { return nil }
        return FlightBeat(key: key, process: found[1], beat: found[2], bytes: found[3])
    }
}
