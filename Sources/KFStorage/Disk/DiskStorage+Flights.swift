extension DiskStorage {
    /// Claims the right to make the one request for a key, among all processes of this machine that use the cache.
    /// False while another process has it; when that one dies, the right is free. Within this process it can be claimed
    /// again and again, and is given up with the last. Processes that can only read fly without asking.
    package func tryEnterFlight(_ key: EntryKey) throws(StorageError) -> Bool {
        guard let flights = try session.flights() else { return true }
        return try flying.withLock { flying throws(StorageError) in
            if let count = flying[key.id] {
                flying[key.id] = count + 1
                return true
            }
            guard try flights.tryAcquire(.exclusive, byte: Self.byte(key)) else { return false }
            flying[key.id] = 1
            return true
        }
    }

    package func leaveFlight(_ key: EntryKey) {
        flying.withLock { flying in
            guard let count = flying[key.id] else { return }
            flying[key.id] = count > 1 ? count - 1 : nil
            guard count == 1 else { return }
            // What was entered was opened.
            _ = Result { () throws(StorageError) in try session.flights()?.release(byte: Self.byte(key)) }
        }
    }

    private static func byte(_ key: EntryKey) -> Int64 { key.id & (.max >> 1) }
}
