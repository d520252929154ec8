import Synchronization

/// The flights of this process: keys that it requests, and that no other process requests meanwhile.
struct FlightTable {
    struct Flight {
        /// How many of this process hold it.
        var count = 1
        /// Of its body.
        let progress = FlightProgress()
    }

    var flights: [Int64: Flight] = [:]
    /// Grows with each sign of life.
    var beats: Int64 = 0
    var isBeating = false
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

    private static func place(_ key: Int64) -> Int { Int(UInt64(bitPattern: key) % UInt64(places)) * words }

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
