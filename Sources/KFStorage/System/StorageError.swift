import Glibc
import KFSystem

package enum StorageError: Error, Equatable, Sendable {
    /// A system call failed: its name, the path and errno.
    case system(call: String, path: String, errno: Int32)
    /// The root exists and is not a directory.
    case notADirectory(path: String)
    /// The directory or one of its parents cannot be created.
    case cannotCreateDirectory(path: String, errno: Int32)
    /// The path of the directory is longer than SQLite takes; sizes are in bytes.
    case pathTooLong(path: String, limit: Int)
    /// Another user could change the directory's content. `remedy` is the command that fixes it.
    case insecureDirectory(path: String, reason: String, remedy: String)
    /// A foreign item is in the place of one of the cache's own files. `kind` names it: "a link".
    case planted(path: String, kind: String)
    /// The directory is not empty and is not a cache.
    case notACache(path: String)
    /// The cache cannot be written to, or was opened for reading only.
    case readOnly(path: String)
    /// The index belongs to a newer kf.
    case newerSchema(path: String, found: Int, supported: Int)
    /// The index is a database of another program.
    case foreignIndex(path: String)
    /// The index is damaged or not a database, or SQLite reports an error that an intact index cannot cause.
    case corruptIndex(path: String, detail: String)
    /// Another failure of SQLite: its extended result code and message.
    case database(path: String, code: Int32, message: String)
    /// The object is larger than the limit of the whole cache; sizes are in bytes.
    case objectTooLarge(size: Int64, limit: Int64)
    /// Another process held a lock longer than this one may wait.
    case locked(path: String, holder: String, waited: Duration?)

    /// Whether another process held a lock, so that a later attempt may succeed.
    package var isLocked: Bool {
        if case .locked = self { return true }
        return false
    }

    /// Whether the disk has no room for bytes or inodes, or the quota is reached.
    package var isDiskFull: Bool {
        switch self {
        case .system(_, _, let code), .cannotCreateDirectory(_, let code): code == ENOSPC || code == EDQUOT
        // SQLITE_FULL, and SQLITE_IOERR_SHMSIZE, because the log's shared memory is a file too.
        case .database(_, let code, _): code & 0xff == 13 || code == 4874
        default: false
        }
    }

    /// Whether nothing has the name, or a link or a file is in the place of a folder on the way.
    var isAbsence: Bool {
        guard case .system(_, _, let code) = self else { return false }
        return code == ENOENT || code == ELOOP || code == ENOTDIR
    }

    /// Whether nothing can be a cache at this path, whatever is there later, or this process may not write there.
    package var isNoPlace: Bool {
        switch self {
        case .pathTooLong: true
        case .cannotCreateDirectory: !isDiskFull
        default: isReadOnly
        }
    }

    /// Whether this process may not write there.
    package var isReadOnly: Bool {
        switch self {
        case .system(_, _, let code), .cannotCreateDirectory(_, let code):
            code == EROFS || code == EACCES || code == EPERM
        case .readOnly: true
        case .database(_, let code, _): code & 0xff == 8
        default: false
        }
    }

    /// The message without the path, for callers that name the file themselves.
    package var reason: String {
        if case .system(_, _, let code) = self { return describe(errno: code) }
        return message
    }

    /// The message for users: one clause without a final stop.
    package var message: String {
        switch self {
        case .system(let call, let path, let code): "\(path): \(call): \(describe(errno: code))"
        case .notADirectory(let path): "\(path) is not a directory"
        case .cannotCreateDirectory(let path, let code):
            "cannot create the directory \(path): \(describe(errno: code))"
        case .pathTooLong(let path, let limit):
            "the path of the cache directory \(path) has \(path.utf8.count) bytes, of which SQLite takes \(limit); choose a shorter one"
        case .insecureDirectory(let path, let reason, let remedy): "\(path) \(reason); to use it: \(remedy)"
        case .planted(let path, let kind):
            "\(path) is \(kind), which kf did not create there; remove it and try again"
        case .notACache(let path):
            "\(path) is not empty and is not a kf cache (no CACHEDIR.TAG by kf); choose another directory"
        case .readOnly(let path): "\(path) cannot be written to"
        case .newerSchema(let path, let found, let supported):
            "\(path) was written by a newer kf (format \(found), this one reads \(supported)); update kf or use another directory"
        case .foreignIndex(let path): "\(path) is a database of another program; use another directory"
        case .corruptIndex(let path, let detail):
            "\(path) is damaged: \(detail) (to repair it: kf cache verify --repair)"
        case .database(let path, let code, let message): "\(path): \(message) (SQLite \(code))"
        case .objectTooLarge(let size, let limit):
            "the image (\(ByteText.bytes(size))) is larger than the limit of the whole cache (\(ByteText.limit(limit)))"
        case .locked(let path, let holder, let waited):
            "gave up\(waited.map { " after \($0.tenths) s of" } ?? "") waiting for \(holder), which holds \(path)"
        }
    }
}

/// Runs `body`, and returns nil in place of its error. Each use says why the error does not matter.
@discardableResult
package func bestEffort<Value: ~Copyable, Failure: Error>(_ body: () throws(Failure) -> Value) -> Value? {
    do { return try body() } catch { return nil }
}

/// Returns the system's text for an errno.
package func describe(errno code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
        guard let text = buffer.baseAddress, strerror_r(code, text, buffer.count) == 0 else { return "error \(code)" }
        return String(cString: text)
    }
}

extension Duration {
    /// The duration in seconds, with tenths unless they are 0.
    fileprivate var tenths: String {
        let (seconds, attoseconds) = components
        let tenth = attoseconds / 100_000_000_000_000_000
        return tenth == 0 ? "\(seconds)" : "\(seconds).\(tenth)"
    }
}
