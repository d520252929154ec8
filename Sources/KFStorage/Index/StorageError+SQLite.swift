import CSQLite

extension StorageError {
    /// What a connection (nil: none could be made) says of its last call.
    init(sqlite code: Int32, _ connection: OpaquePointer?, _ path: String) {
        let detail = String(cString: connection == nil ? sqlite3_errstr(code) : sqlite3_errmsg(connection))
        switch code & 0xff {
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corruptIndex(path: path, detail: detail)
        default: self = .database(path: path, code: code, message: detail)
        }
    }
}
