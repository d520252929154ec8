import KFNetwork
import KFStorage
import Synchronization

/// Claims the cross-process flight of a key when its transfer starts, and has the index looked at once more when another
/// process has committed since the last look.
final class FlightGate: DecidingGate {
    /// The outcome of waiting for another process's flight.
    enum Waiting {
        /// The flight is over, or not to be waited for any longer.
        case over
        /// The other process has stored the image.
        case stored
    }

    private struct State {
        var hold: FlightHold?
        /// The flight is another process's that does not get on: the transfer goes on without it.
        var isBypassed = false
        var isStored = false
    }

    private static let firstPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(50)

    private let storage: DiskStorage
    private let key: EntryKey
    private let commitsSeen: Int64?
    private let isCached: @Sendable () async -> Bool
    private let state = Mutex(State())

    /// `commitsSeen` are the commits of others at the time when the key was missing; nil asks its source whatever has been
    /// stored since. `isCached` looks for it again.
    init(
        _ storage: DiskStorage, _ key: EntryKey, commitsSeen: Int64?, isCached: @escaping @Sendable () async -> Bool
    ) {
        self.storage = storage
        self.key = key
        self.commitsSeen = commitsSeen
        self.isCached = isCached
    }

    /// The transfer ended because its image has been stored meanwhile.
    var isStored: Bool { state.withLock { $0.isStored } }

    /// The flight, held until the image has been stored.
    var hold: FlightHold? { state.withLock { $0.hold } }

    func enter() -> TransferAdmission {
        let isNew = state.withLock { state -> Bool? in
            if state.isBypassed || state.hold != nil { return false }
            // A flight that cannot be claimed for want of a descriptor does not keep the image from who wants it.
            let entered = Result { () throws(StorageError) in try storage.enterFlight(key) }
            guard case .success(let hold) = entered else { return false }
            state.hold = hold
            return hold == nil ? nil : true
        }
        guard let isNew else { return .ended }
        guard isNew, let commitsSeen, commitsSeen != storage.commitsOfOthers else { return .open }
        return .undecided
    }

    func admits() async -> Bool {
        guard await isCached() else { return true }
        state.withLock { $0.isStored = true }
        return false
    }

    /// Gives the flight up, for the next hop or the next try.
    func leave() {
        let hold = state.withLock { state in
            defer { state.hold = nil }
            return state.hold
        }
        // Its end calls the storage, outside the lock.
        _ = hold
    }

    /// Tells the other processes how much of the body has come.
    func note(bytes: Int64) { hold?.note(bytes: bytes) }

    /// Waits until another process has given up the flight, or does not get on with it. Ends with the rests.
    func wait(_ options: RequestOptions, _ rests: RetryRests) async throws(KingfisherError) -> Waiting {
        let isFree = try await Self.wait(storage, key, options, rests)
        if !isFree { state.withLock { $0.isBypassed = true } }
        if commitsSeen != nil, await isCached() {
            state.withLock { $0.isStored = true }
            return .stored
        }
        return .over
    }

    /// False when the other process does not get on.
    private static func wait(
        _ storage: DiskStorage, _ key: EntryKey, _ options: RequestOptions, _ rests: RetryRests
    ) async throws(KingfisherError) -> Bool {
        var watch = FlightWatch(storage, key, stall: options.timeout, total: options.maxTime)
        var pause = firstPause
        while true {
            switch Result(catching: { () throws(StorageError) in try watch.look() }) {
            case .success(.free): return true
            case .success(.stuck), .failure: return false
            case .success(.busy): break
            }
            try await rests.rest(for: pause)
            pause = min(pause * 2, longestPause)
        }
    }

    /// Claims the flight of what no server is asked for, at once; `isStored` says whether it is needed no more.
    func claim(_ options: RequestOptions, _ rests: RetryRests) async throws(KingfisherError) {
        while true {
            switch enter() {
            case .open: return
            case .undecided:
                _ = await admits()
                return
            case .ended, .later:
                if case .stored = try await wait(options, rests) { return }
            }
        }
    }
}
