import CSQLite
import Dispatch
import Glibc

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
        try statement(Self.beginReading).run()
        defer { _ = Result { () throws(StorageError) in try statement(Self.commit).run() } }
        return try body()
    }

    /// Runs `body` as one transaction with its sums; any error undoes all of it.
    func transaction<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try statement(Self.begin).run()
        do {
            let value = try body()
            try writeTally()
            try statement(Self.commit).run()
            return value
        } catch {
            forgetUncommitted()
            // Some failures have rolled back already; then this one says so, and that is no news.
            _ = Result { () throws(StorageError) in try statement(Self.rollback).run() }
            throw error
        }
    }

    /// Runs `body` inside a transaction so that its failure undoes it alone.
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
            // After some failures SQLite has rolled back all of it.
            guard isInTransaction else { throw error }
            try statement(Self.back).run()
            try statement(Self.release).run()
            return .failure(error)
        }
    }
}

/// How long a change to the index may wait for others to share its commit.
struct Company: Sendable {
    /// The commit comes when so many rows wait.
    let rows: Int
    /// Or after this span.
    let span: DispatchTimeInterval?

    /// A commit at once.
    static let none = Company(rows: 1, span: nil)
    /// For changes whose callers wait for them one by one, with some tens in flight.
    static let few = Company(rows: 64, span: .milliseconds(5))
    /// For arrays of orders.
    static let many = Company(rows: 256, span: .milliseconds(20))
}
