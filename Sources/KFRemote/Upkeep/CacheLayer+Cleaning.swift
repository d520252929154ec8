import KFStorage
import KFSystem
import KFTerms

/// The result of ``CacheLayer/clean(unusedFor:maxSize:changesNothing:_:)``.
public struct RemoteCleaning: Sendable {
    /// The number of entries that were deleted, and the bytes of all entries and objects that were.
    public fileprivate(set) var removal = Removal()
    /// The number of entries that could not be read, and of blobs that were not deleted.
    public fileprivate(set) var failed = 0
    /// The reason why the cleaning ended early; nil if it did not.
    public fileprivate(set) var problem: KingfisherError?
}

extension CacheLayer {
    /// Deletes what is damaged, orphans (objects of an hour or more without an entry), the images that were not used for
    /// `unusedFor`, and then those that were not used for longest until all blobs together have at most `maxSize` bytes.
    ///
    /// The last use of an image is that of its entry: the upload or, where the layer knows that, a read
    /// (``CacheLayerBlob/unusedFor``). Entries are read, objects are not. `body` gets the location of each entry and orphan
    /// that is deleted. With `changesNothing`, nothing is. Throws `remoteIsUnavailable` (3017) if the layer cannot be listed
    /// or read.
    public func clean(
        unusedFor: Duration? = nil, maxSize: Int64? = nil, changesNothing: Bool = false,
        _ body: @escaping @Sendable (_ location: String) -> Void = { _ in }
    ) async throws(KingfisherError) -> RemoteCleaning {
        var cleaner = RemoteCleaner(
            survey: try await RemoteSurvey(of: self), changesNothing: changesNothing, report: body)
        try await cleaner.run(unusedFor: unusedFor, maxSize: maxSize)
        return cleaner.result
    }
}

private struct RemoteCleaner {
    /// The number of entries after which their objects are deleted too: those that a cleaning which is cut off leaves.
    private static let batch = 1024

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

    mutating func run(unusedFor: Duration?, maxSize: Int64?) async throws(KingfisherError) {
        try await survey.readEntries { _, _ in }
        let damaged = survey.damaged
        result.failed = survey.unreadable
        let orphans = changesNothing ? survey.orphans : try await survey.confirmed(survey.orphans)
        let excess = excess(unusedFor, maxSize, apartFrom: damaged, orphans)
        do throws(KingfisherError) {
            try await delete(damaged, list.deleteDamaged)
            try await deleteObjects(orphans, reports: true)
            var rest = excess[...]
            while !rest.isEmpty {
                let freed = try await delete(rest.prefix(Self.batch), list.deleteEntry)
                try await deleteObjects(freed, reports: false)
                rest = rest.dropFirst(Self.batch)
            }
        } catch {
            result.problem = error
        }
    }

    /// Returns the entries that are in excess of the limits, those first that were not used for longest.
    private func excess(
        _ unusedFor: Duration?, _ maxSize: Int64?, apartFrom damaged: Set<Int>, _ orphans: [Int]
    ) -> [Int] {
        func bytes(_ places: some Sequence<Int>, _ blobs: [RemoteList.Blob]) -> Int64 {
            places.reduce(0) { $0.adding(saturating: blobs[$1].bytes) }
        }
        var left = bytes(list.entries.indices, list.entries)
            .adding(saturating: bytes(list.objects.indices, list.objects))
            .subtracting(saturating: bytes(damaged, list.entries))
            .subtracting(saturating: bytes(orphans, list.objects))
        let oldest = unusedFor.map { $0.saturatedNanoseconds / 1_000_000 }
        var (found, rest) = ([Int](), survey)
        let candidates = list.entries.indices.filter { survey.objects[$0] >= 0 }
            .sorted { (list.entries[$0].unused, $1) > (list.entries[$1].unused, $0) }
        for place in candidates {
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

    /// Deletes entries. Returns the objects that no entry names any more.
    @discardableResult
    private mutating func delete(
        _ places: some Sequence<Int>, _ delete: @escaping @Sendable (Int) async -> CacheLayerAnswer
    ) async throws(KingfisherError) -> [Int] {
        var freed: [Int] = []
        try await perform(places, delete) { cleaner, place in
            let entry = cleaner.list.entries[place]
            cleaner.report(cleaner.list.desk.location(of: .entry, entry.name))
            cleaner.result.removal.add(entries: 1, bytes: entry.bytes)
            if let object = cleaner.survey.forget(entry: place) { freed.append(object) }
        }
        return freed
    }

    private mutating func deleteObjects(_ places: [Int], reports: Bool) async throws(KingfisherError) {
        try await perform(places, list.deleteObject) { cleaner, place in
            let object = cleaner.list.objects[place]
            if reports { cleaner.report(cleaner.list.desk.location(of: .object, object.name)) }
            cleaner.result.removal.add(entries: 0, bytes: object.bytes)
        }
    }

    /// Calls `take` for each place whose blob is deleted.
    private mutating func perform(
        _ places: some Sequence<Int>, _ delete: @escaping @Sendable (Int) async -> CacheLayerAnswer,
        take: (inout RemoteCleaner, Int) -> Void
    ) async throws(KingfisherError) {
        let delete = changesNothing ? { @Sendable _ in .done } : delete
        try await list.desk.delete(places, delete) { place, answer in
            if answer == .done { take(&self, place) } else if answer.problem != nil { result.failed += 1 }
        }
    }
}
