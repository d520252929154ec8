import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The list of a remote: its entries and objects. An image takes 100 bytes in it.
struct RemoteList: Sendable {
    struct Blob: Sendable {
        let name: Digest
        let bytes: Int64
        /// The time since its last use, in milliseconds; 0 if the remote does not know it.
        let unused: Int64
    }

    /// The state of an entry that was read.
    enum Entry: Sendable {
        /// It names an object of the list.
        case image(object: Int)
        /// It names an object that was uploaded after the list was made.
        case newer(Digest)
        /// It was deleted meanwhile.
        case gone
        /// No reader can use it.
        case damaged(CacheFinding.Kind, String)
        /// It could not be read, so that its object is not known.
        case unreadable(String)
    }

    /// The state of an object that was read, with the number of its bytes.
    enum Object: Sendable { case good(Int64), wrong(Int64), gone, unreadable(String) }

    let desk: RemoteDesk
    /// In the order of their names.
    let entries: [Blob]
    let objects: [Blob]
    /// The time at which the list was begun.
    let start: ContinuousClock.Instant

    init(_ desk: RemoteDesk) async throws(KingfisherError) {
        self.desk = desk
        start = .now
        let found = Mutex((entries: [Blob](), objects: [Blob]()))
        try await desk.layer.list { listed in
            guard let name = Digest(hex: listed.name) else { return }
            let unused = (listed.unusedFor ?? .zero).saturatedNanoseconds / 1_000_000
            let blob = Blob(name: name, bytes: listed.bytes, unused: unused)
            found.withLock { if listed.kind == .entry { $0.entries.append(blob) } else { $0.objects.append(blob) } }
        }
        (entries, objects) = found.withLock { found in
            defer { found = ([], []) }
            return (Self.inOrder(found.entries), Self.inOrder(found.objects))
        }
    }

    /// Sorts blobs, each of which stays once.
    private static func inOrder(_ blobs: consuming [Blob]) -> [Blob] {
        blobs.sort { $0.name < $1.name }
        var last: Digest?
        blobs.removeAll { blob in
            defer { last = blob.name }
            return blob.name == last
        }
        return blobs
    }

    // MARK: Blobs

    /// Reads an entry. What the list says of sizes is not enough to call something damaged.
    func readEntry(_ place: Int) async -> Entry {
        let blob = entries[place]
        let (answer, bytes) = await desk.readEntry(blob.name)
        if answer == .absent { return .gone }
        if case .refusedBlob = answer, blob.bytes > RemoteEntry.longest {
            return .damaged(.wrongContent, "it is longer than any entry")
        }
        if let problem = answer.problem { return .unreadable(problem) }
        guard let entry = RemoteEntry(bytes, name: blob.name.hex) else {
            // The page of a proxy or a log-in is no damage of the remote.
            return bytes.count == blob.bytes
                ? .damaged(.wrongContent, "it is not an entry of this name")
                : .unreadable("\(bytes.count) bytes came, and the list says \(blob.bytes)")
        }
        guard let object = objects.place(of: entry.object) else { return await look(for: entry) }
        if objects[object].bytes == entry.size { return .image(object: object) }
        switch await readObject(object, limit: max(objects[object].bytes, entry.size)) {
        case .good(entry.size): return .image(object: object)
        case .good(let size), .wrong(let size):
            return .damaged(.wrongSize, "its image has \(size) bytes in place of \(entry.size)")
        case .gone: return .damaged(.missingFile, Self.missing)
        case .unreadable(let reason): return .unreadable(reason)
        }
    }

    private static let missing = "its image is missing"

    /// Looks for the object of an entry, which is not in the list.
    private func look(for entry: RemoteEntry) async -> Entry {
        switch await desk.checkObject(entry.object) {
        case .done, .exists: .newer(entry.object)
        case .absent: .damaged(.missingFile, Self.missing)
        // Something else is in its place.
        case .refusedBlob(let reason): .damaged(.notAFile, reason)
        case let answer: .unreadable(answer.problem ?? "")
        }
    }

    /// Reads an object of at most `limit` bytes, by default as many as the list says.
    func readObject(_ place: Int, limit: Int64? = nil) async -> Object {
        let blob = objects[place]
        let (answer, count, digest) = await desk.hashObject(blob.name, limit: limit ?? blob.bytes)
        if answer == .absent { return .gone }
        if let problem = answer.problem { return .unreadable(problem) }
        if digest == blob.name { return .good(count) }
        // A transfer that was cut, or the page of a proxy, is no damage of the remote.
        return count == blob.bytes
            ? .wrong(count) : .unreadable("\(count) bytes came, and the list says \(blob.bytes)")
    }

    func deleteEntry(_ place: Int) async -> CacheLayerAnswer { await desk.delete(.entry, entries[place].name) }

    func deleteObject(_ place: Int) async -> CacheLayerAnswer { await desk.delete(.object, objects[place].name) }

    /// Deletes an entry that was damaged; `exists` says that a writer has replaced it meanwhile.
    func deleteDamaged(_ place: Int) async -> CacheLayerAnswer {
        guard case .damaged = await readEntry(place) else { return .exists }
        return await deleteEntry(place)
    }

    /// Deletes an object that had wrong bytes, after the entries that name it; `exists` says that a writer has replaced it
    /// meanwhile.
    func deleteWrong(_ place: Int, namedBy entries: [Int]) async -> CacheLayerAnswer {
        guard case .wrong = await readObject(place) else { return .exists }
        for entry in entries {
            guard case .image(place) = await readEntry(entry) else { continue }
            let answer = await deleteEntry(entry)
            if answer.problem != nil { return answer }
        }
        return await deleteObject(place)
    }
}

extension [RemoteList.Blob] {
    /// Returns the place of a blob; nil if it is not among them.
    func place(of name: Digest) -> Int? {
        var range = indices
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            if self[middle].name == name { return middle }
            range = self[middle].name < name ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }
}
