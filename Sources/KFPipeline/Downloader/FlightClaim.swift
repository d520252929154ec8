import KFNetwork
import KFStorage

/// The claim to the only request for a key among all processes, and in a run among its URLs, made when its transfer starts.
/// Used by one thread at a time.
struct FlightClaim {
    private static let firstPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(50)

    private let storage: DiskStorage
    private let key: EntryKey
    private let commitsSeen: Int64?
    private let stall: Duration?
    private let total: Duration?
    /// Whether the transfer is of a run, which asks one URL of a key at a time: what that brings serves the others.
    private let isExclusive: Bool
    /// The claimed flight, held until the image has been stored.
    private(set) var hold: FlightHold?
    /// Whether the flight of another process is stuck. The transfer then continues without a claim.
    private var isBypassed = false
    private var watch: FlightWatch?
    private var pause = firstPause

    /// Returns nil if nothing is stored, because other processes would gain nothing by waiting. `commits` is the number of
    /// commits by other processes when the look-up missed; nil to ask the source regardless of later ones.
    init?(_ retrieval: Retrieval, _ commits: Int64?) {
        guard let store = BodyStore(retrieval), let storage = store.cache.alreadyOpen else { return nil }
        self.storage = storage
        key = store.key
        commitsSeen = commits
        isExclusive = retrieval.options.answers != nil
        let transfer = retrieval.box.download.transfer
        (stall, total) = (transfer.options.timeout, transfer.options.maxTime)
    }

    /// Claims the flight. Returns `.undecided` if another process may have stored the image since the look-up missed.
    mutating func enter() -> TransferAdmission {
        if isBypassed || hold != nil || storage.isReadOnly { return .open }
        // Without a free descriptor the flight cannot be claimed. The transfer still starts.
        guard let entered = bestEffort({ try storage.enterFlight(key, exclusively: isExclusive) }) else { return .open }
        guard let entered else { return waitForOther() }
        hold = entered
        let hasWaited = watch != nil
        watch = nil
        pause = Self.firstPause
        guard let commitsSeen, hasWaited || commitsSeen != storage.commitsOfOthers else { return .open }
        return .undecided
    }

    private mutating func waitForOther() -> TransferAdmission {
        defer { pause = min(pause * 2, Self.longestPause) }
        // A transfer of this process has time limits of its own, and its failure is none of another URL.
        if storage.hasFlight(key) { return .later(pause) }
        var watch = watch ?? FlightWatch(storage, key, stall: stall, total: total)
        switch Result(catching: { () throws(StorageError) in try watch.look() }) {
        case .success(.busy):
            self.watch = watch
            return .later(pause)
        // The flight ended after the claim was refused. What another process has committed meanwhile is counted.
        case .success(.free): return .later(pause)
        case .success(.stuck), .failure:
            isBypassed = true
            return commitsSeen == nil ? .open : .undecided
        }
    }

    /// Releases the flight, for the next redirect or the next attempt.
    mutating func leave() { hold = nil }
}
