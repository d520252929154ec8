extension Connection {
    /// Access times, in one transaction.
    func write(_ touches: [Int64: Touch]) throws(StorageError) {
        // Nothing here is worth waiting for the disk. A short log matters: who opens the index next reads all of it.
        try execute("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 250")
        try transaction { () throws(StorageError) in
            for (row, touch) in touches {
                try self.touch(row: row, accessed: touch.accessed, expires: touch.expires)
            }
        }
    }
}
