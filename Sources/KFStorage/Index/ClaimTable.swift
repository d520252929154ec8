import Synchronization

/// The first owner of each name, both as 64-bit digests. The first 100,000 names are in memory, the others in a
/// temporary database, so that memory stays flat however many names there are.
package final class ClaimTable: Sendable {
    private struct Owners: ~Copyable {
        var owners: [UInt64: UInt64] = [:]
        var overflow: Overflow?
        /// Whether no temporary file can be written. All names then stay in memory.
        var isConfined = false
    }

    private let state = Mutex(Owners())
    private let limit: Int

    /// `limit`: the number of names in memory.
    package init(limit: Int = 100_000) { self.limit = limit }

    /// Gives the name to `owner` unless it already has an owner. Returns the owner of the name.
    package func claim(_ name: UInt64, for owner: UInt64) -> UInt64 {
        state.withLock { state in
            if let first = state.owners[name] { return first }
            if state.owners.count >= limit, !state.isConfined {
                do throws(StorageError) {
                    if state.overflow == nil { state.overflow = try Overflow() }
                    if let first = try state.overflow?.claim(name, for: owner) { return first }
                } catch {
                    // The database may have the name already. Without an answer, no source has it, and all get a hash.
                    if state.overflow?.hasNames == true { return ~owner }
                    state.isConfined = true
                }
            }
            state.owners[name] = owner
            return owner
        }
    }

    /// The number of names in memory.
    var inMemory: Int { state.withLock { $0.owners.count } }

    /// A table in a temporary database, which SQLite deletes when it is closed. `ClaimTable` guards it with its lock.
    private final class Overflow {
        private static let insert = Query("INSERT OR IGNORE INTO claims(name, owner) VALUES (?, ?)")
        private static let select = Query("SELECT owner FROM claims WHERE name = ?")
        /// The number of insertions in a transaction.
        private static let batch = 4096

        private let connection: Connection
        private var inserted = 0

        var hasNames: Bool { inserted > 0 }

        init() throws(StorageError) {
            connection = try Connection(path: "", mode: .create)
            // Nothing of it outlives the process.
            try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            try connection.execute("CREATE TABLE claims(name INTEGER PRIMARY KEY, owner INTEGER NOT NULL); BEGIN")
        }

        func claim(_ name: UInt64, for owner: UInt64) throws(StorageError) -> UInt64 {
            let key = Int64(bitPattern: name)
            if let first = try connection.first(Self.select, key, read: { UInt64(bitPattern: $0.int64(0)) }) {
                return first
            }
            try connection.run(Self.insert, key, Int64(bitPattern: owner))
            inserted += 1
            // SQLite writes dirty pages to the file at the end of a transaction.
            if inserted.isMultiple(of: Self.batch) { try connection.execute("COMMIT; BEGIN") }
            return owner
        }
    }
}
