import CSQLite
import Glibc

extension StorageError {
    /// What SQLite reports for damage. A statement of kf's own never fails with the others on a sound index: a flipped
    /// bit in the header or the schema is an SQLITE_ERROR, a row in two places a violated constraint.
    private static let damage = [
        SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_FORMAT,
    ]

    /// What a connection (nil: none could be made) says of its last call. `isOwn`: the statement is all kf's. One with a
    /// user's pattern in it can also fail for that.
    init(sqlite code: Int32, _ connection: OpaquePointer?, _ path: String, isOwn: Bool = true) {
        let detail = String(cString: connection == nil ? sqlite3_errstr(code) : sqlite3_errmsg(connection))
        if [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xff), let connection {
            // Some of SQLite's failures are only in errno a full disk.
            let cause = sqlite3_system_errno(connection)
            if cause == ENOSPC || cause == EDQUOT {
                self = .system(call: "write", path: path, errno: cause)
                return
            }
        }
        switch code & 0xff {
        case SQLITE_ERROR where !isOwn: self = .database(path: path, code: code, message: detail)
        case let kind where Self.damage.contains(kind): self = .corruptIndex(path: path, detail: detail)
        case SQLITE_BUSY: self = .locked(path: path, holder: "another process", waited: nil)
        default: self = .database(path: path, code: code, message: detail)
        }
    }
}
