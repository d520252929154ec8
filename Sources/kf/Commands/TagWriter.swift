import KFCore
import Synchronization

/// The tags of `--tag`, and the images of the run that have yet to get them. Hits and new images are tagged alike, in
/// batches, so that a hit without `--tag` costs nothing more.
final class TagWriter: Sendable {
    /// The number of images after which a batch is written.
    private static let batch = 4096

    private let tags: Set<String>
    private let names = Mutex<Set<EntryName>>([])

    /// Nil without `--tag`.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        tags = Set(try arguments[Options.tag])
        if tags.isEmpty { return nil }
    }

    /// Whether a batch is ready.
    var isFull: Bool { names.withLock { $0.count >= Self.batch } }

    func note(_ result: RetrieveImageResult) { note(EntryName(key: result.key, identifier: result.identifier)) }

    func note(_ name: EntryName) { _ = names.withLock { $0.insert(name) } }

    func note(_ outcome: PrefetchOutcome) {
        switch outcome.ending {
        case .skipped(let files):
            for file in files { note(EntryName(key: file.key, identifier: file.identifier)) }
        case .retrieved(let results):
            for result in results { if let image = try? result.image.get() { note(image) } }
        case .failed, .notTried: break
        }
    }

    /// Writes the tags of the images that were noted, and of the originals of processed ones. Blocks.
    func flush(to cache: ImageCache, _ common: CommonSettings) -> ExitStatus {
        let taken = names.withLock { names in
            defer { names = [] }
            return names
        }
        guard !taken.isEmpty else { return .success }
        do throws(KingfisherError) {
            try cache.tagNow(taken, andOriginals: true, tags)
            return .success
        } catch {
            common.report(error, for: "--tag")
            return .cacheFailed
        }
    }
}
