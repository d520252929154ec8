import Glibc

/// Bodies that are resumed after an interruption, also in another process.
///
/// All of this is to be called in flight for the key (`tryEnterFlight`). A miss asks `takePartial`: if there is
/// something, the request goes out with a range from `StagedObject.size` and the facts' validator. When the answer is
/// the rest, it is written behind what is there; when it is the whole body, the object is let go and `beginPartial`
/// starts anew. Without a body to go on with, `beginPartial` takes the place of `stage` wherever the answer has a
/// validator and its length is worth it. A finished object is stored like any other. One whose transfer broke off is
/// told `keep()` and let go; one that is let go without that is removed, and `kill -9` acts as `keep()`.
extension DiskStorage {
    /// Whether there is anything that `takePartial` could find.
    package var hasPartials: Bool { !FileListing.names(in: "partial", of: session.directory.version.raw).isEmpty }

    /// A new file to write a body into that can be resumed. Where that is impossible (another writes the same body) it
    /// is an ordinary one, whose `keep()` does nothing.
    package func beginPartial(for key: EntryKey, _ facts: PartialFacts) throws(StorageError) -> StagedObject {
        guard !isReadOnly else { throw .readOnly(path: path) }
        let begun: StagedObject? = try remaking { () throws(StorageError) in
            let directory = session.directory
            let body = PartialBody(directory, key)
            guard let file = try directory.restoring({ () throws(StorageError) in try body.begin(facts) }) else {
                return nil
            }
            return StagedObject(directory, partial: body.name, file)
        }
        if let begun { return begun }
        return try stage()
    }

    /// The interrupted body of a key, ready to be written on, if the same request made it and it still is what the
    /// facts say. Reads and hashes all of it. What is damaged, too old, or of another request is removed.
    package func takePartial(
        for key: EntryKey, request: Digest
    ) throws(StorageError) -> (object: StagedObject, facts: PartialFacts)? {
        if isReadOnly { return nil }
        let directory = session.directory
        let body = PartialBody(directory, key)
        guard let taken = try body.take(request, now: .now()) else { return nil }
        let facts = taken.facts
        let object = StagedObject(directory, partial: body.name, taken.file)
        do {
            try object.rehash()
        } catch {
            // The disk cannot give back what it took: the object goes with its files, and the body comes anew.
            return nil
        }
        return (object, facts)
    }

    /// Removes the interrupted body of a key, unless somebody writes to it.
    package func removePartial(for key: EntryKey) throws(StorageError) {
        if isReadOnly { return }
        try PartialBody(session.directory, key).remove()
    }
}
