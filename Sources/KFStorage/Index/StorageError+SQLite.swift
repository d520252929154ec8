import CSQLite
import Glibc

extension StorageError {
    /// What a connection (nil: none could be made) says of its last call.
    init(sqlite code: Int32, _ connection: OpaquePointer?, _ path: String) {
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
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corruptIndex(path: path, detail: detail)
        case SQLITE_BUSY: self = .locked(path: path, holder: "another process", waited: nil)
        default: self = .database(path: path, code: code, message: detail)
        }
    }
}
