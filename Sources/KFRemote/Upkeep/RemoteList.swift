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

    /// What reading an entry has found.
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

    func readEntry(_ place: Int) async -> Entry {
        let blob = entries[place]
        guard blob.bytes <= RemoteEntry.longest else { return .damaged(.wrongContent, "it is longer than any entry") }
        let (answer, bytes) = await desk.readEntry(blob.name)
        if answer == .absent { return .gone }
        if let problem = answer.problem { return .unreadable(problem) }
        guard let entry = RemoteEntry(bytes, name: blob.name.hex) else {
            // The page of a proxy or a log-in is no damage of the remote.
            return bytes.count == blob.bytes
                ? .damaged(.wrongContent, "it is not an entry of this name")
                : .unreadable("\(bytes.count) bytes came, and the list says \(blob.bytes)")
        }
        if let place = objects.place(of: entry.object) {
            let size = objects[place].bytes
            if size == entry.size { return .image(object: place) }
            return .damaged(.wrongSize, "its image has \(size) bytes in place of \(entry.size)")
        }
        switch await desk.check(.object, entry.object) {
        case .done, .exists: return .newer(entry.object)
        case .absent: return .damaged(.missingFile, "its image is missing")
        case let answer: return .unreadable(answer.problem ?? "")
        }
    }

    func deleteEntry(_ place: Int) async -> CacheLayerAnswer { await desk.delete(.entry, entries[place].name) }

    func deleteObject(_ place: Int) async -> CacheLayerAnswer { await desk.delete(.object, objects[place].name) }

    /// Deletes an entry that was damaged; `exists` says that a writer has replaced it meanwhile.
    func deleteDamaged(_ place: Int) async -> CacheLayerAnswer {
        guard case .damaged = await readEntry(place) else { return .exists }
        return await deleteEntry(place)
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
