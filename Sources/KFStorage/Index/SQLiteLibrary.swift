import CSQLite

/// The library of the index.
package enum SQLiteLibrary {
    package static var version: String { String(cString: sqlite3_libversion()) }
}
