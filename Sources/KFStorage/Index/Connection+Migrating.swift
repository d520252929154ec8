extension Connection {
    private static let userVersion = Query("PRAGMA user_version")

    /// Makes an index of an older format into one of the current, step by step in one transaction. Another process may
    /// have done it; the write lock must be held.
    func migrate() throws(StorageError) {
        try transaction { () throws(StorageError) in
            var version = Int(try integer(Self.userVersion))
            while version < Schema.version, let step = Schema.migrations[version] {
                try execute(step)
                version += 1
                try execute("PRAGMA user_version = \(version)")
            }
        }
    }
}
