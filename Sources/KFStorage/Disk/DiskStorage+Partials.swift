/// Partial bodies: what an interrupted transfer leaves, to be resumed later, also in another process.
///
/// To be called in flight for the key (`tryEnterFlight`); only `takePartial` may be called ahead of it, as the body's own
/// lock keeps others away. A miss asks `takePartial`: if there is
/// something, the request goes out with a range from `StagedObject.size` and the facts' validator. When the answer is
/// the rest, it is written behind what is there; when it is the whole body, the object is let go and `beginPartial`
/// starts anew. Without a body to go on with, `beginPartial` takes the place of `stage` wherever the answer has a strong
/// validator and its length is worth it. A finished object is stored like any other. One whose transfer broke off is
/// told `keep()` and let go; one that is let go without that is removed. `kill -9` acts as a `keep()` at the last
/// checkpoint.
extension DiskStorage {
    /// Whether there is anything that `takePartial` could find.
    package var hasPartials: Bool { !session.directory.names(in: "partial").isEmpty }

    /// How many there are and what they take, those that are being written included.
    package var partials: PartialSum { session.directory.partials }

    /// A new file to write a body into that can be resumed. Where that is impossible (another writes the same body) it
    /// is an ordinary one, whose `keep()` does nothing.
    package func beginPartial(for key: EntryKey, _ facts: PartialFacts) throws(StorageError) -> StagedObject {
        guard !isReadOnly else { throw .readOnly(path: path) }
        let begun: StagedObject? = try remaking { () throws(StorageError) in
            let directory = session.directory
            let body = PartialBody(directory, key)
            guard let files = try directory.restoring({ () throws(StorageError) in try body.begin(facts) }) else {
                return nil
            }
            return StagedObject(directory, partial: body.name, files.body, files.log)
        }
        if let begun { return begun }
        return try stage()
    }

    /// The partial body of a key, ready to be written on from its last confirmed byte, if the same request made it and
    /// a checkpoint confirms what it holds. Reads and hashes all of it. What is damaged, too old, or of another request
    /// is removed.
    package func takePartial(
        for key: EntryKey, request: Digest
    ) throws(StorageError) -> (object: StagedObject, facts: PartialFacts)? {
        if isReadOnly { return nil }
        let directory = session.directory
        let body = PartialBody(directory, key)
        guard let files = try body.take(request, now: .now()) else { return nil }
        let record = files.record
        let object = StagedObject(directory, partial: body.name, files.body, files.log)
        do {
            return try object.restore(record) ? (object, record.facts) : nil
        } catch {
            // The disk cannot give back what it took: the object goes with its files, and the body comes anew.
            return nil
        }
    }

    /// Removes the partial body of a key, unless it is being written. Says what went, or with `dryRun` would go.
    package func removePartial(for key: EntryKey, dryRun: Bool = false) throws(StorageError) -> PartialSum {
        var sum = PartialSum()
        let body = PartialBody(session.directory, key)
        guard dryRun || !isReadOnly else { return sum }
        let size = body.size
        if !dryRun { guard try body.remove() else { return sum } }
        if let size { sum.add(size) }
        return sum
    }
}
