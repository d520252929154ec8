import Glibc

/// Open-file-description locks on one byte of a file: they belong to the descriptor, not to the process, so threads
/// exclude each other too and closing another descriptor of the same file does not release them.
package final class FileLock: Sendable {
    package enum Kind: Sendable { case shared, exclusive }

    // The numbers of <fcntl.h>, which Glibc's module leaves out.
    private static let setLock: Int32 = 37
    private static let setLockWait: Int32 = 38

    private let file: FileDescriptor

    package init(_ file: consuming FileDescriptor) { self.file = file }

    /// Waits for the lock; may block the calling thread.
    package func acquire(_ kind: Kind, byte: Int64) throws(StorageError) {
        var request = Self.request(kind == .shared ? F_RDLCK : F_WRLCK, byte)
        try retry("lock", file.path) { fcntl(file.raw, Self.setLockWait, &request) }
    }

    /// False when another holds it.
    package func tryAcquire(_ kind: Kind, byte: Int64) throws(StorageError) -> Bool {
        var request = Self.request(kind == .shared ? F_RDLCK : F_WRLCK, byte)
        do {
            try retry("lock", file.path) { fcntl(file.raw, Self.setLock, &request) }
            return true
        } catch .system(_, _, let code) where code == EAGAIN || code == EACCES {
            return false
        }
    }

    /// Releasing what is not held is no error.
    package func release(byte: Int64) {
        var request = Self.request(F_UNLCK, byte)
        _ = fcntl(file.raw, Self.setLock, &request)
    }

    private static func request(_ type: Int32, _ byte: Int64) -> flock {
        var request = flock()
        request.l_type = Int16(type)
        request.l_whence = Int16(SEEK_SET)
        request.l_start = off_t(byte)
        request.l_len = 1
        return request
    }
}
