import Dispatch

extension Connection {
    private static let beginReading = Query("BEGIN")
    private static let begin = Query("BEGIN IMMEDIATE")
    private static let commit = Query("COMMIT")
    private static let rollback = Query("ROLLBACK")
    private static let mark = Query("SAVEPOINT change")
    private static let release = Query("RELEASE change")
    private static let back = Query("ROLLBACK TO change")

    /// Runs `body` on one snapshot of the index.
    func reading<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try transaction(Self.beginReading, body)
    }

    /// Runs `body` and the update of the sums as one transaction. Any error rolls it back.
    func transaction<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        variants = nil
        do {
            return try transaction(Self.begin) { () throws(StorageError) in
                let value = try body()
                try writeTally()
                return value
            }
        } catch {
            forgetUncommitted()
            throw error
        }
    }

    private func transaction<Value>(
        _ begin: Query, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try statement(begin).run()
        do {
            let value = try body()
            try statement(Self.commit).run()
            return value
        } catch {
            // Fails only if SQLite has already rolled back.
            bestEffort { try statement(Self.rollback).run() }
            throw error
        }
    }

    /// Runs `body` in a savepoint of the open transaction, so that its failure undoes only its own changes.
    func nested<Value>(
        _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Result<Value, StorageError> {
        let before = tally
        try statement(Self.mark).run()
        do {
            let value = try body()
            try statement(Self.release).run()
            return .success(value)
        } catch {
            forgetUncommitted()
            tally = before
            // After some failures SQLite has rolled back the whole transaction.
            guard isInTransaction else { throw error }
            try statement(Self.back).run()
            try statement(Self.release).run()
            return .failure(error)
        }
    }
}

/// The conditions for a group commit: how long a change to the index may wait for others to share its commit.
struct Company: Sendable {
    /// The number of waiting rows at which the commit starts.
    let rows: Int
    /// The time after which the commit starts in any case; nil starts it at once.
    let span: DispatchTimeInterval?

    /// An immediate commit.
    static let none = Company(rows: 1, span: nil)
    /// For single changes that a caller waits for, with some tens in flight.
    static let few = Company(rows: 64, span: .milliseconds(5))
    /// For arrays of stores.
    static let many = Company(rows: 256, span: .milliseconds(20))
}
