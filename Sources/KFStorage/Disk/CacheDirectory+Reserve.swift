import CSystem
import Glibc

/// A file of nothing that is given up when the disk is full: removing entries takes room in the log first.
extension CacheDirectory {
    private static let reserve = "reserve"
    /// In bytes: the log of an eviction's transactions, several times over.
    private static let reserveSize: Int64 = 4 << 20
    /// A disk with less than so many times that much left is not made fuller.
    private static let ample: UInt64 = 16

    /// Makes it where it is missing, if there is room enough. Nothing depends on it but comfort.
    func makeReserve() {
        guard !exists(Self.reserve) else { return }
        var disk = statvfs()
        guard fstatvfs(version.raw, &disk) == 0,
            UInt64(disk.f_bavail) * UInt64(disk.f_frsize) > Self.ample * UInt64(Self.reserveSize)
        else { return }
        let isMade = Result { () throws(StorageError) in
            let file = try open(Self.reserve, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            return kf_allocate(file.raw, Self.reserveSize) == 0
        }
        if case .success(false) = isMade { unlink(Self.reserve) }
    }

    /// False when there is none (any more).
    func giveUpReserve() -> Bool {
        if case .success = Result(catching: { () throws(StorageError) in try removeFile(Self.reserve) }) { return true }
        return false
    }

    /// Runs `body`; when the disk is full, once more without the reserve.
    func sparing<Value>(_ body: () throws(StorageError) -> sending Value) throws(StorageError) -> sending Value {
        do {
            return try body()
        } catch let error where error.isDiskFull {
            guard giveUpReserve() else { throw error }
            return try body()
        }
    }
}
