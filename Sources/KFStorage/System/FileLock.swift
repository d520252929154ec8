import Glibc

/// Open-file-description locks on one byte of a file: they belong to the descriptor, not to the process, so threads
/// exclude each other too and closing another descriptor of the same file does not release them.
package final class FileLock: Sendable {
    package enum Kind: Sendable { case shared, exclusive }

    // The numbers of <fcntl.h>, which Glibc's module leaves out.
    private static let getLock: Int32 = 36
    private static let setLock: Int32 = 37
    private static let setLockWait: Int32 = 38

    private let file: FileDescriptor

    package init(_ file: consuming FileDescriptor) { self.file = file }

    /// For messages.
    var path: String { file.path }

    /// Waits for the lock, however long another process holds it; `BoundedLock` waits for a bounded time.
    package func acquire(_ kind: Kind, byte: Int64) throws(StorageError) {
        var request = Self.request(kind == .shared ? F_RDLCK : F_WRLCK, byte)
        try retry("lock", file.path) { fcntl(file.raw, Self.setLockWait, &request) }
    }

    /// False when another holds it.
    package func tryAcquire(_ kind: Kind, byte: Int64) throws(StorageError) -> Bool {
        try Self.tryAcquire(kind, byte: byte, of: file)
    }

    /// A lock that lives as long as the descriptor.
    static func tryAcquire(
        _ kind: Kind, byte: Int64, of file: borrowing FileDescriptor
    ) throws(StorageError) -> Bool {
        var request = request(kind == .shared ? F_RDLCK : F_WRLCK, byte)
        do {
            try retry("lock", file.path) { fcntl(file.raw, setLock, &request) }
            return true
        } catch .system(_, _, let code) where code == EAGAIN || code == EACCES {
            return false
        }
    }

    /// Releasing what is not held is no error.
    package func release(byte: Int64) { Self.release(byte: byte, of: file) }

    static func release(byte: Int64, of file: borrowing FileDescriptor) {
        var request = request(F_UNLCK, byte)
        _ = fcntl(file.raw, setLock, &request)
    }

    /// Whether the exclusive lock could be had now.
    func isFree(byte: Int64) throws(StorageError) -> Bool { try conflict(byte: byte).l_type == Int16(F_UNLCK) }

    /// The process that holds a lock of the traditional kind (`lockf`); an OFD lock does not tell.
    func traditionalHolder(byte: Int64) -> pid_t? {
        let found = Result { () throws(StorageError) in try conflict(byte: byte) }
        guard case .success(let lock) = found, lock.l_type != Int16(F_UNLCK), lock.l_pid > 0 else { return nil }
        return lock.l_pid
    }

    private func conflict(byte: Int64) throws(StorageError) -> flock {
        var request = Self.request(F_WRLCK, byte)
        try retry("lock", file.path) { fcntl(file.raw, Self.getLock, &request) }
        return request
    }

    /// 64-bit numbers of the file, from the one at `first` on; what is not there is 0.
    func read(words count: Int, from first: Int = 0) throws(StorageError) -> [Int64] {
        var words = [Int64](repeating: 0, count: count)
        let result = words.withUnsafeMutableBytes { buffer in
            Result { () throws(StorageError) in
                try retry("read", file.path) { pread(file.raw, buffer.baseAddress, buffer.count, off_t(first * 8)) }
            }
        }
        _ = try result.get()
        return words.map(Int64.init(littleEndian:))
    }

    /// The file's first words in memory; nil while it has fewer.
    func map(words count: Int) -> MappedWords? { MappedWords(file, atLeast: count) }

    func write(words: [Int64], from first: Int = 0) throws(StorageError) {
        let result = words.map(\.littleEndian).withUnsafeBytes { buffer in
            Result { () throws(StorageError) in
                try retry("write", file.path) { pwrite(file.raw, buffer.baseAddress, buffer.count, off_t(first * 8)) }
            }
        }
        _ = try result.get()
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
