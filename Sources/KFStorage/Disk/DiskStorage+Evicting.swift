extension DiskStorage {
    /// Victims chosen at a time: so much memory, in 40 bytes each, and so few passes over the times of access.
    private static let choice = 1 << 18

    /// Removes until the objects take at most `bytes`: the expired first, then what was used longest ago.
    package func evict(to bytes: Int64, dryRun: Bool = false) throws(StorageError) -> Removal {
        var removal = Removal()
        var last: EvictionRank?
        var excess = try storedSize() - bytes
        while excess > 0 {
            // A connection of its own: reading all times must not keep this process's lookups waiting.
            let reader = try session.makeReader()
            let ranks = try reader.evictionOrder(after: last, count: Self.choice, now: now())
            let victims = try reader.victims(ranks)
            let count = Self.count(of: victims, sum: excess)
            guard count > 0 else { break }
            // What is spared or shared leaves something to do: later ones then go in its place.
            last = ranks[count - 1]
            let chosen = victims[..<count].compactMap { $0 }
            if dryRun {
                // Objects that several entries share make this an estimate.
                let sum = Self.sum(chosen)
                removal.add(sum)
                excess -= sum.bytes
            } else {
                removal.add(
                    try bulkRemoval(sparesUsed: true).remove(chosen) { connection throws(StorageError) in
                        try connection.storedSize() <= bytes
                    })
                excess = try storedSize() - bytes
            }
        }
        return removal
    }

    /// How many from the beginning make up the sum.
    private static func count(of victims: [Victim?], sum: Int64) -> Int {
        var rest = sum
        for (index, victim) in victims.enumerated() {
            if rest <= 0 { return index }
            rest -= victim?.size ?? 0
        }
        return victims.count
    }

    /// After a store: when the limit is passed, down to half of it (Kingfisher's rule), so that the next stores need not
    /// evict. Interrupted bodies count, and may take a quarter of the limit.
    package func evictIfNeeded() throws(StorageError) -> Removal {
        let limit = configuration.sizeLimit
        guard limit > 0, !isReadOnly else { return Removal() }
        var partial = session.directory.reapPartials(now: .now())
        if try storedSize() + partial > limit {
            partial = session.directory.reapPartials(now: .now(), keeping: limit / 4)
        }
        session.partialBytes.store(partial, ordering: .relaxed)
        guard try storedSize() + partial > limit else { return Removal() }
        return try evict(to: max(0, limit / 2 - partial))
    }
}
