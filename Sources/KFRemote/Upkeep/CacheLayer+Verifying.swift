import KFStorage
import KFTerms

extension CacheLayer {
    /// Reads every entry and every object of the layer, and passes what is wrong to `body`: entries that no reader can use,
    /// objects whose bytes are not those of their name, and orphans: objects of an hour or more without an entry.
    ///
    /// With `deletes`, damage and orphans are deleted; readers find a miss there, and the next writer replaces it. What
    /// cannot be read stays, and then no object counts as an orphan. Throws `remoteIsUnavailable` (3017) if the layer
    /// cannot be listed, refuses to delete, or does not answer any more.
    public func verify(
        deletes: Bool = false, _ body: @escaping @Sendable (CacheFinding) -> Void
    ) async throws(KingfisherError) -> Verification {
        var verifier = RemoteVerifier(survey: try await RemoteSurvey(of: self), deletes: deletes, report: body)
        try await verifier.run()
        return verifier.result
    }
}

private struct RemoteVerifier {
    private enum Object: Sendable { case good, gone, wrong, unreadable(String) }

    private var survey: RemoteSurvey
    private let deletes: Bool
    private let report: (CacheFinding) -> Void
    private(set) var result = Verification()

    init(survey: RemoteSurvey, deletes: Bool, report: @escaping (CacheFinding) -> Void) {
        self.survey = survey
        self.deletes = deletes
        self.report = report
        result.entries = survey.list.entries.count
    }

    mutating func run() async throws(KingfisherError) {
        try await checkEntries()
        let others = try await checkObjects()
        try await checkOrphans(except: others)
    }

    private mutating func note(
        _ kind: CacheFinding.Kind, _ blob: CacheLayerRequest.Kind, _ place: Int, _ detail: String,
        isRepaired: Bool = false
    ) {
        let name = (blob == .entry ? survey.list.entries : survey.list.objects)[place].name
        let finding = CacheFinding(
            kind, path: survey.list.desk.location(of: blob, name), detail, isRepaired: isRepaired)
        result.add(finding)
        report(finding)
    }

    private mutating func checkEntries() async throws(KingfisherError) {
        var damaged: [Int: (kind: CacheFinding.Kind, detail: String)] = [:]
        var survey = survey
        try await survey.readEntries { (place, entry) throws(KingfisherError) in
            switch entry {
            case .damaged(let kind, let detail) where deletes: damaged[place] = (kind, detail)
            case .damaged(let kind, let detail): note(kind, .entry, place, detail)
            case .unreadable(let reason): note(.unreadable, .entry, place, reason)
            case .image, .newer, .gone: break
            }
        }
        self.survey = survey
        try await delete(damaged.keys, survey.list.deleteDamaged) { place, isGone in
            guard let (kind, detail) = damaged[place] else { return }
            note(kind, .entry, place, detail, isRepaired: isGone)
        }
    }

    /// Returns the places of the objects that are wrong, gone, or cannot be read.
    private mutating func checkObjects() async throws(KingfisherError) -> Set<Int> {
        var (wrong, others) = (Set<Int>(), Set<Int>())
        let list = survey.list
        try await concurrently(list.objects.indices, width: RemoteDesk.width) { place in
            (place, await Self.read(list.objects[place], list.desk))
        } take: { (place, object) throws(KingfisherError) in
            result.files += 1
            switch object {
            case .good: result.bytes += list.objects[place].bytes
            case .gone: others.insert(place)
            case .wrong:
                result.bytes += list.objects[place].bytes
                wrong.insert(place)
                if !deletes { note(.wrongContent, .object, place, Self.wrong) }
            case .unreadable(let reason):
                others.insert(place)
                note(.unreadable, .object, place, reason)
                try list.desk.checkHealth(after: reason)
            }
        }
        guard deletes else { return others.union(wrong) }
        // An entry goes before its object, as it came after it.
        let entries = survey.objects.indices.filter { wrong.contains(Int(survey.objects[$0])) }
        try await delete(entries, list.deleteEntry) { _, _ in }
        try await delete(wrong) { place in
            // A writer may have replaced it meanwhile.
            guard case .wrong = await Self.read(list.objects[place], list.desk) else { return .exists }
            return await list.deleteObject(place)
        } take: { place, isGone in
            note(.wrongContent, .object, place, Self.wrong, isRepaired: isGone)
        }
        return others.union(wrong)
    }

    private static let wrong = "its bytes are not those of its name"

    private static func read(_ blob: RemoteList.Blob, _ desk: RemoteDesk) async -> Object {
        let (answer, count, digest) = await desk.hashObject(blob.name, limit: blob.bytes)
        if answer == .absent { return .gone }
        if let problem = answer.problem { return .unreadable(problem) }
        if digest == blob.name { return .good }
        // A transfer that was cut, or the page of a proxy, is no damage of the remote.
        return count == blob.bytes ? .wrong : .unreadable("\(count) bytes came, and the list says \(blob.bytes)")
    }

    private mutating func checkOrphans(except others: Set<Int>) async throws(KingfisherError) {
        let orphans = survey.orphans.filter { !others.contains($0) }
        guard deletes else {
            for place in orphans { note(.orphan, .object, place, "no entry names it") }
            return
        }
        try await delete(try await survey.confirmed(orphans), survey.list.deleteObject) { place, isGone in
            note(.orphan, .object, place, "no entry names it", isRepaired: isGone)
        }
    }

    /// Deletes blobs, and passes the place of each to `take`, with whether it is gone. Those that were replaced are left out.
    private func delete(
        _ places: some Sequence<Int>, _ delete: @escaping @Sendable (Int) async -> CacheLayerAnswer,
        take: (Int, Bool) -> Void
    ) async throws(KingfisherError) {
        try await survey.list.desk.delete(places, delete) { place, answer in
            if answer != .exists { take(place, answer.problem == nil) }
        }
    }
}
