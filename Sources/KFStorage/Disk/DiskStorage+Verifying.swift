extension DiskStorage {
    /// Checks every row and every file, and tells what it finds as it goes. Others may go on using the cache; memory stays
    /// bounded, however much is found. With `repairs`, what is broken is removed and counts are corrected.
    ///
    /// Throws `corruptIndex` when SQLite itself cannot go on, and `readOnly` when there is something to repair and
    /// nothing can be written.
    package func verify(
        repairs: Bool, report: @escaping (CacheFinding) -> Void
    ) throws(StorageError) -> Verification {
        if repairs, isReadOnly { throw .readOnly(path: path) }
        return try Verifier(self, repairs: repairs, report: report).run()
    }
}
