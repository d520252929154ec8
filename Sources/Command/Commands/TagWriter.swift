import KFCore
import Synchronization

/// The tags of `--tag`, and the images of the run that have yet to get them. Hits and new images are tagged alike, in
/// batches, so that a hit without `--tag` costs nothing more.
final class TagWriter: Sendable {
    /// The number of images after which a batch is written.
    private static let batch = 4096

    private let tags: Set<String>
    private let pending = Mutex(Pending())

    private struct Pending {
        var names: Set<EntryName> = []
        /// The names whose originals are tagged too, because this run has stored them.
        var made: Set<EntryName> = []
    }

    /// Nil without `--tag`.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        tags = Set(try arguments[Options.tag])
        if tags.isEmpty { return nil }
    }

    var isFull: Bool { pending.withLock { $0.names.count + $0.made.count >= Self.batch } }

    func note(_ result: RetrieveImageResult) {
        let name = result.storedName
        let set = [.fetched, .remote].contains(result.way) ? \Pending.made : \Pending.names
        _ = pending.withLock { $0[keyPath: set].insert(name) }
    }

    func note(_ outcome: PrefetchOutcome) {
        switch outcome.ending {
        case .skipped(let files):
            pending.withLock { pending in
                for file in files { pending.names.insert(EntryName(key: file.key, identifier: file.identifier)) }
            }
        case .retrieved(let results):
            // An image that failed is reported elsewhere, and has no entry to tag.
            for result in results { if case .success(let image) = result.image { note(image) } }
        case .failed, .notTried: break
        }
    }

    /// Writes the tags of the images that were noted, and of the originals that were fetched for them. Blocks.
    func flush(to cache: ImageCache, _ common: CommonSettings) -> ExitStatus {
        let taken = pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
        do throws(KingfisherError) {
            if !taken.names.isEmpty { try cache.tagNow(taken.names, tags) }
            if !taken.made.isEmpty { try cache.tagNow(taken.made, andOriginals: true, tags) }
            return .success
        } catch {
            common.report(error, for: "--tag")
            return .cacheFailed
        }
    }
}
