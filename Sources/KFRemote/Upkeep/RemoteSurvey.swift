import KFStorage
import KFTerms

/// The list of a remote, with the object that each of its entries names.
struct RemoteSurvey: Sendable {
    /// The age in milliseconds from which an object without an entry is an orphan. The entry of a younger one may follow.
    private static let orphanAge: Int64 = 3_600_000

    let list: RemoteList
    /// The place of the object of each entry; -1 if that is not known.
    private(set) var objects: [Int32]
    /// The number of entries of each object.
    private(set) var uses: [Int32]
    /// The number of entries that name an object.
    private(set) var images = 0
    private(set) var unreadable = 0
    /// The reason why an entry could not be read.
    private(set) var problem: String?
    /// The number of objects without an entry that a cleaning may leave which is cut off.
    static let mostLeft = 2 * RemoteDesk.width

    /// Lists the remote.
    init(of layer: any CacheLayer) async throws(KingfisherError) {
        list = try await RemoteList(RemoteDesk(layer))
        objects = Array(repeating: -1, count: list.entries.count)
        uses = Array(repeating: 0, count: list.objects.count)
    }

    /// Reads all entries. `flawed` gets each one that is damaged or cannot be read.
    mutating func readEntries(
        _ flawed: (_ entry: Int, RemoteList.Entry) -> Void
    ) async throws(KingfisherError) {
        var doubtful: [Int] = []
        try await read(list.entries.indices) { place, entry in
            switch entry {
            case .gone, .damaged: doubtful.append(place)
            case .image, .newer, .unreadable: flawed(place, entry)
            }
        }
        // One wrong answer of a server must not cost an image.
        try await read(doubtful, flawed)
    }

    private mutating func read(
        _ places: some Sequence<Int>, _ take: (Int, RemoteList.Entry) -> Void
    ) async throws(KingfisherError) {
        try await concurrently(places, width: RemoteDesk.width) { [list] place in
            (place, await list.readEntry(place))
        } take: { (place, entry) throws(KingfisherError) in
            take(place, entry)
            switch entry {
            case .image(let object):
                images += 1
                objects[place] = Int32(clamping: object)
                uses[object] += 1
            case .newer: images += 1
            case .gone, .damaged: break
            case .unreadable(let reason):
                unreadable += 1
                problem = reason
                try list.desk.checkHealth(after: reason)
            }
        }
    }

    /// Throws if a folder seems to be lost, because it was not mounted or restored: the images of the other one must not go
    /// with it.
    func checkWhole() throws(KingfisherError) {
        let (entries, objects) = (list.entries.count, list.objects.count)
        guard images == 0, unreadable == 0, objects == 0 ? entries > 0 : objects > Self.mostLeft else { return }
        throw .remoteFails(
            list.desk.layer.name,
            "none of its \(entries) entries names one of its \(objects) objects, so that nothing is deleted; if all is to "
                + "go, delete its folder \(RemoteLayout.root)")
    }

    // MARK: Orphans

    /// The objects that no entry names and that are old enough; empty if an entry could not be read.
    var orphans: [Int] {
        guard unreadable == 0 else { return [] }
        return uses.indices.filter { uses[$0] == 0 && list.objects[$0].unused >= Self.orphanAge }
    }

    /// Returns the orphans that may be deleted: the list is made again, and all entries in it are read that are new, or whose
    /// object is not known.
    func confirmed(_ orphans: [Int]) async throws(KingfisherError) -> [Int] {
        if orphans.isEmpty { return [] }
        let now = try await RemoteList(list.desk)
        // Times may be rounded to seconds.
        let elapsed = (list.start.duration(to: .now) + .seconds(2)).saturatedNanoseconds / 1_000_000
        let fresh = now.entries.indices.filter { place in
            let entry = now.entries[place]
            return entry.unused <= elapsed || list.entries.place(of: entry.name).map { objects[$0] < 0 } ?? true
        }
        var rest = Set(orphans.map { list.objects[$0].name })
        try await concurrently(fresh, width: RemoteDesk.width) {
            await now.readEntry($0)
        } take: { entry in
            switch entry {
            case .image(let object): rest.remove(now.objects[object].name)
            case .newer(let object): rest.remove(object)
            case .gone, .damaged: break
            case .unreadable: rest = []
            }
        }
        return orphans.filter { rest.contains(list.objects[$0].name) }
    }

    // MARK: Deleting

    /// Notes that an entry was deleted. Returns the place of its object if no other entry names that.
    mutating func forget(entry: Int) -> Int? {
        let object = Int(objects[entry])
        guard object >= 0 else { return nil }
        objects[entry] = -1
        uses[object] -= 1
        return uses[object] == 0 ? object : nil
    }
}

extension KingfisherError {
    static func remoteFails(_ name: String, _ reason: String) -> KingfisherError {
        .cacheError(reason: .remoteIsUnavailable(detail: "the remote \(name): \(reason)"))
    }
}
