extension DiskStorage {
    /// Lets the file of an entry outlive the entry's replacement, under another key of the same source. Nothing is kept
    /// when the entry holds other bytes by now.
    package func keepFile(of entry: Entry, as key: EntryKey, _ facts: EntryFacts) async throws(StorageError) {
        _ = try await carryOut([.keep(entry, as: key, facts)], urgent: false)
    }

    /// Makes entries fresh again without touching their bytes. Returns after the commit, with the entries as they are
    /// now; one that was removed or holds other bytes by now is nil and stays as it is.
    package func renew(
        _ entries: [Entry], _ renewal: EntryRenewal, urgent: Bool
    ) async throws(StorageError) -> [Entry?] {
        try await carryOut(entries.map { .renew([$0], renewal) }, urgent: urgent)
    }

    /// Carries out one group of orders; returns after the commit, with their results, or throws the first failure.
    func carryOut(_ orders: [IndexOrder], urgent: Bool) async throws(StorageError) -> [Entry?] {
        let outcomes = await withUnsafeContinuation { continuation in
            submit([orders], urgent ? .none : .few) { continuation.resume(returning: $0[0]) }
        }
        var entries: [Entry?] = []
        for outcome in outcomes { entries.append(try outcome.get()) }
        return entries
    }
}
