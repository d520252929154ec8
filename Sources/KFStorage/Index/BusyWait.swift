import CSQLite
import Glibc

/// SQLite's waiting for locks of its own, bounded by a patience. Belongs to one connection, and is used by the thread that
/// uses it.
final class BusyWait {
    /// In microseconds, between two tries: doubled each time.
    private static let firstPause: UInt32 = 500
    private static let longestPause: UInt32 = 20_000

    private let patience: Patience
    private var start = ContinuousClock.now
    /// False lets SQLite report a lock at once.
    var isAllowed = true

    init(_ patience: Patience) { self.patience = patience }

    /// The connection must not outlive this object.
    func install(on connection: OpaquePointer) {
        sqlite3_busy_handler(
            connection,
            { context, tries in
                guard let context else { return 0 }
                return Unmanaged<BusyWait>.fromOpaque(context).takeUnretainedValue().waits(tries) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// `tries` counts from 0 for each call of SQLite that finds a lock.
    private func waits(_ tries: Int32) -> Bool {
        guard isAllowed else { return false }
        if tries == 0 { start = .now }
        guard patience.deadline(from: start) > .now else { return false }
        usleep(min(Self.firstPause << UInt32(min(tries, 10)), Self.longestPause))
        return true
    }
}
