extension DiskStorage {
    /// Claims the right to make the one request for a key, among all processes of this machine that use the cache.
    /// False while another process has it; when that one dies, the right is free. Processes that can only read fly
    /// without asking.
    package func tryEnterFlight(_ key: EntryKey) throws(StorageError) -> Bool {
        guard let flights = try session.flights() else { return true }
        return try flights.tryAcquire(.exclusive, byte: Self.byte(key))
    }

    package func leaveFlight(_ key: EntryKey) {
        // Not having been opened, it was never entered.
        _ = Result { () throws(StorageError) in try session.flights()?.release(byte: Self.byte(key)) }
    }

    private static func byte(_ key: EntryKey) -> Int64 { key.id & (.max >> 1) }
}
