import Glibc
import KFStorage

/// A file that a user named for a result. A regular file is replaced as a whole or not at all; a device, FIFO or
/// socket is written through; a link is replaced, not followed.
struct OutputFile: ~Copyable {
    let path: String
    let file: FileDescriptor
    /// Where the bytes are until all are there; nil when they are written through.
    private let temporary: String?

    /// Throws `outputFailed` (4002).
    init(path: String) throws(KingfisherError) {
        self.path = path
        var status = stat()
        let exists = lstat(path, &status) == 0
        if exists, status.isDirectory { throw Self.failure(path, "is a directory") }
        do {
            if exists, !status.isRegularFile, status.st_mode & S_IFMT != S_IFLNK {
                temporary = nil
                file = try .open(path, O_WRONLY)
            } else {
                let name = "\(path).kf-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
                file = try .open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666, shown: path)
                temporary = name
            }
        } catch {
            throw Self.failure(error)
        }
    }

    deinit {
        if let temporary { unlink(temporary) }
    }

    /// Puts what was written in place.
    consuming func commit() throws(KingfisherError) {
        guard let temporary else { return }
        guard rename(temporary, path) == 0 else { throw Self.failure(path, describe(errno: errno)) }
    }

    static func failure(_ error: StorageError) -> KingfisherError {
        guard case .system(_, let path, let code) = error else {
            return .processorError(reason: .outputFailed(detail: error.message))
        }
        return failure(path, describe(errno: code))
    }

    private static func failure(_ path: String, _ detail: String) -> KingfisherError {
        .processorError(reason: .outputFailed(detail: "cannot write \(path): \(detail)"))
    }
}
