import Glibc
import Synchronization

/// Which of the 256 folders of objects were found to be folders in the running second, and not links that lead
/// elsewhere.
final class CheckedFolders: Sendable {
    private let seconds = Mutex([Int](repeating: 0, count: 256))

    func contains(_ folder: UInt8) -> Bool {
        let now = Self.now
        return seconds.withLock { $0[Int(folder)] == now }
    }

    func insert(_ folder: UInt8) {
        let now = Self.now
        seconds.withLock { $0[Int(folder)] = now }
    }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return time.tv_sec
    }
}
