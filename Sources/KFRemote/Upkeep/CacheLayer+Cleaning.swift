import KFStorage
import KFSystem
import KFTerms

/// The result of ``CacheLayer/clean(unusedFor:maxSize:changesNothing:_:)``.
public struct RemoteCleaning: Sendable {
    /// The number of entries that were deleted, and the bytes of all entries and objects that were.
    public fileprivate(set) var removal = Removal()
    /// The number of entries that could not be read, in which case nothing was deleted, or of blobs that were not deleted.
    public fileprivate(set) var failed = 0
    /// The reason of the last failure.
    public fileprivate(set) var reason: String?
    /// The reason why the cleaning ended early; nil if it did not.
    public fileprivate(set) var problem: KingfisherError?
}

extension CacheLayer {
    /// Deletes what is damaged, orphans (objects of an hour or more without an entry), the images that were not used for
    /// `unusedFor`, and then those that were not used for longest until all images together have at most `maxSize` bytes.
    ///
    /// The last use of an image is that of its entry: the upload or, where the layer knows that, a read
    /// (``CacheLayerBlob/unusedFor``). Entries are read, and objects only where the list gives another size than the entry.
    /// If an entry cannot be read, nothing is deleted, since it may name any of the objects. `body` gets the location of
    /// each entry and orphan that is deleted. With `changesNothing`, nothing is. Throws `remoteIsUnavailable` (3017) if the
    /// layer cannot be listed.
    public func clean(
        unusedFor: Duration? = nil, maxSize: Int64? = nil, changesNothing: Bool = false,
        _ body: @escaping @Sendable (_ location: String) -> Void = { _ in }
    ) async throws(KingfisherError) -> RemoteCleaning {
        var cleaner = RemoteCleaner(
            survey: try await RemoteSurvey(of: self), changesNothing: changesNothing, report: body)
        await cleaner.run(unusedFor: unusedFor, maxSize: maxSize)
        return cleaner.result
    }
}

private struct RemoteCleaner {
    private var survey: RemoteSurvey
    private let changesNothing: Bool
    private let report: (String) -> Void
    private(set) var result = RemoteCleaning()
    private var list: RemoteList { survey.list }

    init(survey: RemoteSurvey, changesNothing: Bool, report: @escaping (String) -> Void) {
        self.survey = survey
        self.changesNothing = changesNothing
        self.report = report
    }

    mutating func run(unusedFor: Duration?, maxSize: Int64?) async {
        do throws(KingfisherError) {
            var damaged: [Int] = []
            try await survey.readEntries { place, entry in if case .damaged = entry { damaged.append(place) } }
            guard survey.unreadable == 0 else {
                let reason = survey.problem.map { "\($0), so that nothing is deleted" }
                (result.failed, result.reason) = (survey.unreadable, reason)
                return
            }
            try survey.checkWhole()
            let orphans = changesNothing ? survey.orphans : try await survey.confirmed(survey.orphans)
            try await perform(damaged, list.deleteDamaged) { $0.note(entry: $1) }
            try await perform(orphans, list.deleteObject) { $0.note(object: $1, isOrphan: true) }
            try await deleteImages(excess(unusedFor, maxSize))
        } catch {
            result.problem = error
        }
    }

    /// Returns the entries of the images that are in excess of the limits, those first that were not used for longest.
    private func excess(_ unusedFor: Duration?, _ maxSize: Int64?) -> [Int] {
        let images = list.entries.indices.filter { survey.objects[$0] >= 0 }
        var left: Int64 = images.reduce(0) { $0.adding(saturating: list.entries[$1].bytes) }
        for (object, uses) in zip(list.objects, survey.uses) where uses > 0 {
            left = left.adding(saturating: object.bytes)
        }
        let oldest = unusedFor.map { $0.saturatedNanoseconds / 1_000_000 }
        var (found, rest) = ([Int](), survey)
        for place in images.sorted(by: { (list.entries[$0].unused, $1) > (list.entries[$1].unused, $0) }) {
            let isUnused = oldest.map { list.entries[place].unused >= $0 } ?? false
            guard isUnused || maxSize.map({ left > $0 }) ?? false else { break }
            found.append(place)
            left = left.subtracting(saturating: list.entries[place].bytes)
            if let object = rest.forget(entry: place) {
                left = left.subtracting(saturating: list.objects[object].bytes)
            }
        }
        return found
    }

    /// Deletes entries, and soon after them the objects that no entry names any more: a cleaning that is cut off leaves few
    /// of those.
    private mutating func deleteImages(_ entries: [Int]) async throws(KingfisherError) {
        var rest = entries[...]
        while !rest.isEmpty {
            var freed: [Int] = []
            try await perform(rest.prefix(RemoteSurvey.mostLeft), list.deleteEntry) { cleaner, place in
                cleaner.note(entry: place)
                if let object = cleaner.survey.forget(entry: place) { freed.append(object) }
            }
            try await perform(freed, list.deleteObject) { $0.note(object: $1) }
            rest = rest.dropFirst(RemoteSurvey.mostLeft)
        }
    }

    private mutating func note(entry place: Int) {
        report(list.desk.location(of: .entry, list.entries[place].name))
        result.removal.add(entries: 1, bytes: list.entries[place].bytes)
    }

    private mutating func note(object place: Int, isOrphan: Bool = false) {
        if isOrphan { report(list.desk.location(of: .object, list.objects[place].name)) }
        result.removal.add(entries: 0, bytes: list.objects[place].bytes)
    }

    /// Calls `take` for each place whose blob is deleted.
    private mutating func perform(
        _ places: some Sequence<Int>, _ delete: @escaping @Sendable (Int) async -> CacheLayerAnswer,
        take: (inout RemoteCleaner, Int) -> Void
    ) async throws(KingfisherError) {
        let delete = changesNothing ? { @Sendable _ in .done } : delete
        try await list.desk.delete(places, delete) { place, answer in
            if answer == .done { return take(&self, place) }
            guard let problem = answer.problem else { return }
            result.failed += 1
            result.reason = problem
        }
    }
}
