import CSQLite
import Glibc

/// A prepared statement. As in SQLite, columns are numbered from 0 and parameters from 1.
struct Statement {
    let handle: OpaquePointer
    let path: String
    /// Whether all of the statement is kf's own, without a user's pattern among its parameters.
    var isOwn = true

    // SQLITE_TRANSIENT: SQLite copies bound values.
    fileprivate static var copied: sqlite3_destructor_type? { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    /// Binds the parameters, from the first one on.
    func bind<each Value: Bindable>(_ values: repeat each Value) {
        var index: Int32 = 0
        for value in repeat each values {
            index += 1
            value.bind(to: self, at: index)
        }
    }

    /// Binds four parameters. Each store does, and the compiler does not unroll the loop over a pack.
    func bind(
        from index: Int32, _ first: some Bindable, _ second: some Bindable, _ third: some Bindable,
        _ fourth: some Bindable
    ) {
        first.bind(to: self, at: index)
        second.bind(to: self, at: index + 1)
        third.bind(to: self, at: index + 2)
        fourth.bind(to: self, at: index + 3)
    }

    /// Advances to the next row. Returns false when there is none.
    func step() throws(StorageError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let error = StorageError(sqlite: code, sqlite3_db_handle(handle), path, isOwn: isOwn)
            reset()
            throw error
        }
    }

    /// Runs a statement that returns no rows, and resets it for the next use.
    func run() throws(StorageError) {
        while try step() {}
        reset()
    }

    /// Runs a statement that returns no rows, and keeps its bindings, which the next run replaces.
    func runBound() throws(StorageError) {
        while try step() {}
        sqlite3_reset(handle)
    }

    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    func finalize() { sqlite3_finalize(handle) }

    func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// Returns a count clamped to 0...`mostCounted`, so that sums of a few counts cannot overflow.
    func count(_ column: Int32) -> Int64 { min(max(0, int64(column)), Self.mostCounted) }

    /// The greatest count: 2^53, up to which a JSON number is exact.
    static let mostCounted: Int64 = 1 << 53

    func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }

    func text(_ column: Int32) -> String { optionalText(column) ?? "" }

    func equals(_ column: Int32, _ text: StaticString) -> Bool {
        guard let start = sqlite3_column_text(handle, column) else { return false }
        let count = Int(sqlite3_column_bytes(handle, column))
        return count == text.utf8CodeUnitCount && memcmp(start, text.utf8Start, count) == 0
    }

    func equals(_ column: Int32, _ text: String) -> Bool {
        let count = Int(sqlite3_column_bytes(handle, column))
        guard text.utf8.count == count else { return false }
        // Without bytes there is no address.
        guard count > 0, let start = sqlite3_column_blob(handle, column) else { return true }
        var text = text
        return text.withUTF8 { memcmp(start, $0.baseAddress!, count) == 0 }
    }

    func optionalText(_ column: Int32) -> String? {
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Returns the text if it is safe as the value of a request header, else nil.
    func headerText(_ column: Int32) -> String? {
        optionalText(column).flatMap { HeaderText.isValue($0) ? $0 : nil }
    }

    /// Reads an object from four successive columns: hash, extension, size and time. Nil if kf cannot have written one
    /// of them, because such a row names no file.
    func object(_ first: Int32, pixels: PixelFacts? = nil) -> StoredObject? {
        guard let digest = digest(first), let fileExtension = fileExtension(first + 1),
            StoredObject.sizes.contains(int64(first + 2))
        else { return nil }
        return StoredObject(
            digest: digest, fileExtension: fileExtension, size: int64(first + 2), modified: int64(first + 3),
            pixels: pixels)
    }

    func fileExtension(_ column: Int32) -> ObjectExtension? {
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        return ObjectExtension(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func digest(_ column: Int32) -> Digest? {
        guard let start = sqlite3_column_blob(handle, column) else { return nil }
        return Digest(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    private func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
}

/// Texts that a statement reads where they are while it runs. SQLite would copy each of them, with an allocation.
///
/// The statement must be reset, or its parameters bound anew, before the texts are removed.
struct BoundTexts: ~Copyable {
    /// Longer texts are copied by SQLite.
    private static let room = 8192

    private let start = UnsafeMutableRawPointer.allocate(byteCount: Self.room, alignment: 8)
    private var used = 0

    deinit { start.deallocate() }

    mutating func removeAll() { used = 0 }

    mutating func bind(_ text: String?, to statement: Statement, at index: Int32) {
        guard var text else { return Optional<Int64>.none.bind(to: statement, at: index) }
        let place = start + used
        let isHere = text.withUTF8 { text in
            guard text.count <= Self.room - used, let source = text.baseAddress else { return false }
            place.copyMemory(from: source, byteCount: text.count)
            sqlite3_bind_text(
                statement.handle, index, place.assumingMemoryBound(to: CChar.self), Int32(clamping: text.count), nil)
            used += text.count
            return true
        }
        if !isHere { text.bind(to: statement, at: index) }
    }
}

/// A value of a statement's parameter.
protocol Bindable {
    func bind(to statement: Statement, at index: Int32)
}

extension Int64: Bindable {
    func bind(to statement: Statement, at index: Int32) { sqlite3_bind_int64(statement.handle, index, self) }
}

extension String: Bindable {
    func bind(to statement: Statement, at index: Int32) {
        let count = Int32(clamping: utf8.count)
        _ = withCString { sqlite3_bind_text(statement.handle, index, $0, count, Statement.copied) }
    }
}

extension ObjectExtension: Bindable {
    func bind(to statement: Statement, at index: Int32) {
        withUnsafeTemporaryAllocation(byteCount: Self.longest, alignment: 8) { bytes in
            let count = write(to: bytes.baseAddress!)
            let text = bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
            sqlite3_bind_text(statement.handle, index, text, Int32(clamping: count), Statement.copied)
        }
    }
}

extension Digest: Bindable {
    func bind(to statement: Statement, at index: Int32) {
        withBytes { _ = sqlite3_bind_blob(statement.handle, index, $0.baseAddress, 32, Statement.copied) }
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    func bind(to statement: Statement, at index: Int32) {
        if let self { self.bind(to: statement, at: index) } else { sqlite3_bind_null(statement.handle, index) }
    }
}

extension StorageError {
    /// The result codes that mean damage.
    ///
    /// On an intact index, kf's own statements fail with none of them. A flipped bit in the header or the schema causes
    /// SQLITE_ERROR, and a row in two places causes SQLITE_CONSTRAINT.
    private static let damage = [
        SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_FORMAT,
    ]

    /// Creates the error of a connection's last call; the connection is nil if it could not be opened. `isOwn`: the
    /// statement has no user's pattern, which could itself cause the failure.
    init(sqlite code: Int32, _ connection: OpaquePointer?, _ path: String, isOwn: Bool = true) {
        let detail = String(cString: connection == nil ? sqlite3_errstr(code) : sqlite3_errmsg(connection))
        if [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xff), let connection {
            // For some failures only errno shows that the disk is full.
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
