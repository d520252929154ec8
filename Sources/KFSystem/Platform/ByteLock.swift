import Glibc

/// Locks of the kernel on single bytes of a file, which belong to the open file and not to the process.
///
/// Linux: open-file-description locks. macOS has them under the same names with other numbers, and without reporting a
/// traditional lock's holder in the same way; that is not built.
package enum ByteLock {
    package enum Kind: Sendable { case shared, exclusive, none }

    // The numbers of <fcntl.h>, which Glibc's module leaves out.
    private static let getLock: Int32 = 36
    private static let setLock: Int32 = 37
    private static let setLockWait: Int32 = 38

    /// Sets or releases the lock on a byte. Returns -1 and errno on failure: EAGAIN or EACCES if it is held elsewhere and
    /// `waits` is false.
    package static func set(_ kind: Kind, byte: Int64, of descriptor: Int32, waits: Bool) -> Int32 {
        var request = request(kind, byte)
        return fcntl(descriptor, waits ? setLockWait : setLock, &request)
    }

    /// Looks for a lock that excludes an exclusive one. Returns -1 and errno on failure. `holder` is nil without such a lock,
    /// the process of a traditional one (`lockf`), and -1 for one of an open file, whose holder the kernel does not report.
    package static func conflict(byte: Int64, of descriptor: Int32, holder: inout pid_t?) -> Int32 {
        var request = request(.exclusive, byte)
        let result = fcntl(descriptor, getLock, &request)
        holder = result != 0 || request.l_type == Int16(F_UNLCK) ? nil : request.l_pid
        return result
    }

    private static func request(_ kind: Kind, _ byte: Int64) -> flock {
        var request = flock()
        request.l_type = Int16(kind == .shared ? F_RDLCK : kind == .exclusive ? F_WRLCK : F_UNLCK)
        request.l_whence = Int16(SEEK_SET)
        request.l_start = off_t(byte)
        request.l_len = 1
        return request
    }
}
