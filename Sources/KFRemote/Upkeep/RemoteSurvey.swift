import KFStorage
import KFTerms

/// What a remote has: its list, and the object that each of its entries names.
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
    /// The places of the entries that no reader can use.
    private(set) var damaged: Set<Int> = []

    /// Lists the remote.
    init(of layer: any CacheLayer) async throws(KingfisherError) {
        list = try await RemoteList(RemoteDesk(layer))
        objects = Array(repeating: -1, count: list.entries.count)
        uses = Array(repeating: 0, count: list.objects.count)
    }

    /// Reads all entries. `flawed` gets each one that is damaged or cannot be read.
    mutating func readEntries(
        _ flawed: (_ entry: Int, RemoteList.Entry) throws(KingfisherError) -> Void
    ) async throws(KingfisherError) {
        try await concurrently(list.entries.indices, width: RemoteDesk.width) { [list] place in
            (place, await list.readEntry(place))
        } take: { (place, entry) throws(KingfisherError) in
            switch entry {
            case .image(let object):
                images += 1
                objects[place] = Int32(object)
                uses[object] += 1
            case .newer: images += 1
            case .gone: break
            case .damaged:
                damaged.insert(place)
                try flawed(place, entry)
            case .unreadable(let reason):
                unreadable += 1
                try flawed(place, entry)
                try list.desk.checkHealth(after: reason)
            }
        }
    }

    // MARK: Orphans

    /// The objects that no entry names and that are old enough; empty if an entry could not be read.
    var orphans: [Int] {
        guard unreadable == 0 else { return [] }
        return uses.indices.filter { uses[$0] == 0 && list.objects[$0].unused >= Self.orphanAge }
    }

    /// Returns the orphans that may be deleted: the list is made again, and the entries that are new in it, or were damaged
    /// before, are read.
    func confirmed(_ orphans: [Int]) async throws(KingfisherError) -> [Int] {
        if orphans.isEmpty { return [] }
        let now = try await RemoteList(list.desk)
        // Times may be rounded to seconds.
        let elapsed = (list.start.duration(to: .now) + .seconds(2)).saturatedNanoseconds / 1_000_000
        let fresh = now.entries.indices.filter { place in
            let entry = now.entries[place]
            return entry.unused <= elapsed || list.entries.place(of: entry.name).map(damaged.contains) ?? true
        }
        var (names, rest) = (images, Set(orphans.map { list.objects[$0].name }))
        try await concurrently(fresh, width: RemoteDesk.width) {
            await now.readEntry($0)
        } take: { entry in
            switch entry {
            case .image(let object):
                names += 1
                rest.remove(now.objects[object].name)
            case .newer(let object): rest.remove(object)
            case .gone, .damaged: break
            case .unreadable: rest = []
            }
        }
        let confirmed = orphans.filter { place in
            let name = list.objects[place].name
            return rest.contains(name) && now.objects.place(of: name) != nil
        }
        // A folder that was not mounted or restored has taken the entries along, but not the images.
        guard names > 0 || confirmed.isEmpty else {
            throw .remoteFails(
                list.desk.layer.name,
                "it has \(list.objects.count) objects and no entry that names one, so that none is deleted; if they are "
                    + "to go, delete its folder \(RemoteLayout.root)")
        }
        return confirmed
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
