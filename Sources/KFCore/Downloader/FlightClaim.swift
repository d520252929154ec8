import KFNetwork
import KFStorage

/// The claim to the one request for a key among all processes, made when its transfer starts. One thread's at a time.
struct FlightClaim {
    private static let firstPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(50)

    private let storage: DiskStorage
    private let key: EntryKey
    private let commitsSeen: Int64?
    private let stall: Duration?
    private let total: Duration?
    /// The flight, held until the image has been stored.
    private(set) var hold: FlightHold?
    /// The flight is another process's that does not get on: the transfer goes on without it.
    private var isBypassed = false
    private var watch: FlightWatch?
    private var pause = firstPause

    /// Nil where nothing is stored: other processes would gain nothing by waiting.
    init?(_ place: DownloadPlace, _ request: RequestOptions) {
        guard place.stores, let storage = place.cache.alreadyOpen, !storage.isReadOnly else { return nil }
        self.storage = storage
        key = place.key
        // Without them the source is asked whatever has been stored since.
        commitsSeen = place.commitsSeen
        stall = request.transfer.timeout
        total = request.transfer.maxTime
    }

    /// `.undecided` when another process may have stored the image since it was found missing.
    mutating func enter() -> TransferAdmission {
        if isBypassed || hold != nil { return .open }
        // A flight that cannot be claimed for want of a descriptor does not keep the image from who wants it.
        guard case .success(let entered) = Result(catching: { () throws(StorageError) in try storage.enterFlight(key) })
        else { return .open }
        guard let entered else { return waitForOther() }
        hold = entered
        let hasWaited = watch != nil
        watch = nil
        pause = Self.firstPause
        guard let commitsSeen, hasWaited || commitsSeen != storage.commitsOfOthers else { return .open }
        return .undecided
    }

    private mutating func waitForOther() -> TransferAdmission {
        var watch = watch ?? FlightWatch(storage, key, stall: stall, total: total)
        let sight = Result { () throws(StorageError) in try watch.look() }
        self.watch = watch
        switch sight {
        case .success(.busy), .success(.free):
            defer { pause = min(pause * 2, Self.longestPause) }
            return .later(pause)
        case .success(.stuck), .failure:
            isBypassed = true
            return commitsSeen == nil ? .open : .undecided
        }
    }

    /// Gives the flight up, for the next hop or the next try.
    mutating func leave() { hold = nil }
}
