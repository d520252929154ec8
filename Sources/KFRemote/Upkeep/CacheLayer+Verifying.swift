import KFStorage
import KFTerms

/// The result of ``CacheLayer/verify(deletes:_:)``.
public struct RemoteCheck: Sendable {
    /// The counts of checked blobs and of findings.
    public fileprivate(set) var result = Verification()
    /// The reason why the check ended early; nil if it did not.
    public fileprivate(set) var problem: KingfisherError?
}

extension CacheLayer {
    /// Reads every entry and every object of the layer, and passes what is wrong to `body`: entries that no reader can use,
    /// objects whose bytes are not those of their name, and orphans: objects of an hour or more without an entry.
    ///
    /// With `deletes`, damage and orphans are deleted, with the entries that name a wrong object; readers find a miss there,
    /// and the next writer replaces it. What cannot be read stays, and then no object counts as an orphan. Throws
    /// `remoteIsUnavailable` (3017) if the layer cannot be listed.
    public func verify(
        deletes: Bool = false, _ body: @escaping @Sendable (CacheFinding) -> Void
    ) async throws(KingfisherError) -> RemoteCheck {
        var verifier = RemoteVerifier(survey: try await RemoteSurvey(of: self), deletes: deletes, report: body)
        await verifier.run()
        return verifier.check
    }
}

private struct RemoteVerifier {
    private static let wrong = "its bytes are not those of its name"
    private static let orphan = "no entry names it"
    /// The number of entries that a finding names.
    private static let mostNamed = 10

    private var survey: RemoteSurvey
    private let deletes: Bool
    private let report: (CacheFinding) -> Void
    private(set) var check = RemoteCheck()
    private var list: RemoteList { survey.list }

    init(survey: RemoteSurvey, deletes: Bool, report: @escaping (CacheFinding) -> Void) {
        self.survey = survey
        self.deletes = deletes
        self.report = report
        check.result.entries = survey.list.entries.count
    }

    mutating func run() async {
        do throws(KingfisherError) {
            let damaged = try await checkEntries()
            if deletes { try survey.checkWhole() }
            try await delete(damaged.keys, list.deleteDamaged) { verifier, place, isGone in
                guard let (kind, detail) = damaged[place] else { return }
                verifier.note(kind, .entry, place, detail, isRepaired: isGone)
            }
            let others = try await checkObjects()
            try await checkOrphans(except: others)
        } catch {
            check.problem = error
        }
    }

    private mutating func note(
        _ kind: CacheFinding.Kind, _ blob: CacheLayerRequest.Kind, _ place: Int, _ detail: String,
        entries: [Int] = [], isRepaired: Bool = false
    ) {
        let name = (blob == .entry ? list.entries : list.objects)[place].name
        let named = entries.prefix(Self.mostNamed).map { entry in
            EntryName(key: list.desk.location(of: .entry, list.entries[entry].name))
        }
        let finding = CacheFinding(
            kind, path: list.desk.location(of: blob, name), entries: named, detail, isRepaired: isRepaired)
        check.result.add(finding)
        report(finding)
    }

    /// Returns the damaged entries that are to be deleted.
    private mutating func checkEntries() async throws(KingfisherError) -> [Int: (CacheFinding.Kind, String)] {
        var damaged: [Int: (CacheFinding.Kind, String)] = [:]
        var survey = survey
        try await survey.readEntries { place, entry in
            switch entry {
            case .damaged(let kind, let detail) where deletes: damaged[place] = (kind, detail)
            case .damaged(let kind, let detail): note(kind, .entry, place, detail)
            case .unreadable(let reason): note(.unreadable, .entry, place, reason)
            case .image, .newer, .gone: break
            }
        }
        self.survey = survey
        return damaged
    }

    /// Returns the objects that are wrong, gone, or cannot be read.
    private mutating func checkObjects() async throws(KingfisherError) -> Set<Int> {
        var (wrong, others) = (Set<Int>(), Set<Int>())
        try await concurrently(list.objects.indices, width: RemoteDesk.width) { [list] place in
            (place, await list.readObject(place))
        } take: { (place, object) throws(KingfisherError) in
            check.result.files += 1
            switch object {
            case .good(let count): check.result.bytes += count
            case .wrong(let count):
                check.result.bytes += count
                wrong.insert(place)
            case .gone: others.insert(place)
            case .unreadable(let reason):
                others.insert(place)
                note(.unreadable, .object, place, reason)
                try list.desk.checkHealth(after: reason)
            }
        }
        let users = Dictionary(grouping: survey.objects.indices.filter { wrong.contains(Int(survey.objects[$0])) }) {
            Int(survey.objects[$0])
        }
        if !deletes {
            for place in wrong { note(.wrongContent, .object, place, Self.wrong, entries: users[place] ?? []) }
            return others.union(wrong)
        }
        try await delete(wrong) { [list] place in
            await list.deleteWrong(place, namedBy: users[place] ?? [])
        } take: { verifier, place, isGone in
            verifier.note(
                .wrongContent, .object, place, Self.wrong, entries: users[place] ?? [], isRepaired: isGone)
        }
        return others.union(wrong)
    }

    private mutating func checkOrphans(except others: Set<Int>) async throws(KingfisherError) {
        let orphans = survey.orphans.filter { !others.contains($0) }
        guard deletes else {
            for place in orphans { note(.orphan, .object, place, Self.orphan) }
            return
        }
        try await delete(try await survey.confirmed(orphans), list.deleteObject) { verifier, place, isGone in
            verifier.note(.orphan, .object, place, Self.orphan, isRepaired: isGone)
        }
    }

    /// Deletes blobs, and passes the place of each to `take`, with whether it is gone. Those that were replaced are left out.
    private mutating func delete(
        _ places: some Sequence<Int>, _ delete: @escaping @Sendable (Int) async -> CacheLayerAnswer,
        take: (inout RemoteVerifier, Int, Bool) -> Void
    ) async throws(KingfisherError) {
        try await list.desk.delete(places, delete) { place, answer in
            if answer != .exists { take(&self, place, answer.problem == nil) }
        }
    }
}
