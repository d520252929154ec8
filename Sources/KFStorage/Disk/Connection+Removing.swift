/// Removing entries with their files.
extension Connection {
    /// Removes an entry, and its object if no other entry uses it.
    func remove(row: Int64, from directory: CacheDirectory) throws(StorageError) {
        for unused in try removeEntry(row: row) { try remove(unused, from: directory) }
    }

    /// First the file, then the row: a crash between them leaves a row without a file, which is a miss that heals.
    func remove(_ unused: UnusedObject, from directory: CacheDirectory) throws(StorageError) {
        if let object = unused.object { try directory.clear(object.file) }
        try forgetObject(row: unused.row)
    }
}
