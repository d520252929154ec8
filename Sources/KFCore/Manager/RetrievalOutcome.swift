import KFImaging
import KFStorage
import Synchronization

/// The facts about a retrieval, collected for its result.
struct RetrievalOutcome: Sendable {
    private var retrieval: Retrieval
    private let asked: Source
    private(set) var way = RetrievalWay.fetched
    var storing = CacheStoreResult()
    var response: ResponseFacts?
    var attempts = 0
    var isPersonal = false
    var check: ImageCheck.Extent?
    private var warnings: [ImageWarning] = []

    init(_ retrieval: Retrieval, asked: Source) {
        self.retrieval = retrieval
        self.asked = asked
    }

    /// Adds the warnings that are not listed yet.
    mutating func warn(_ more: [ImageWarning]) {
        for warning in more where !warnings.contains(warning) { warnings.append(warning) }
    }

    /// Returns the outcome for another image made from the same bytes.
    func of(_ retrieval: Retrieval) -> RetrievalOutcome {
        var outcome = self
        outcome.retrieval = retrieval
        return outcome
    }

    func by(_ way: RetrievalWay) -> RetrievalOutcome {
        var outcome = self
        outcome.way = way
        return outcome
    }

    func result(_ way: RetrievalWay, _ file: CachedFile) -> RetrieveImageResult {
        result(way, .file(file), ImageFacts(file.entry), path: file.path)
    }

    /// Makes the result of a stored file without opening it.
    func result(_ way: RetrievalWay, _ stored: StoredFile) -> RetrieveImageResult {
        result(way, .stored(stored), stored.facts, path: stored.path)
    }

    /// Makes the result of a stored file that another process has removed.
    func result(_ way: RetrievalWay, _ stored: StoredFile, _ bytes: [UInt8]) -> RetrieveImageResult {
        result(way, .bytes(bytes), stored.facts, path: stored.path)
    }

    func result(
        _ way: RetrievalWay, _ bytes: [UInt8], _ format: ImageFormat, _ pixels: PixelFacts?
    ) -> RetrieveImageResult {
        let digest = bytes.withUnsafeBytes { SHA256.hash($0) }.hex
        let facts = ImageFacts(
            format: format, width: pixels?.width, height: pixels?.height, frames: pixels?.frames,
            bytes: Int64(bytes.count), sha256: digest)
        return result(way, .bytes(bytes), facts, path: nil)
    }

    func result(_ way: RetrievalWay, _ cached: CachedImage) -> RetrieveImageResult {
        result(way, .memory(cached, retrieval.cache), cached.facts, path: cached.path)
    }

    private func result(
        _ way: RetrievalWay, _ content: RetrieveImageResult.Content, _ facts: ImageFacts, path: String?
    ) -> RetrieveImageResult {
        RetrieveImageResult(
            source: retrieval.source, originalSource: asked, way: way, key: retrieval.target.key,
            identifier: retrieval.target.identifier, facts: facts, storing: storing, response: response,
            attempts: attempts, isPersonal: isPersonal, check: check, warnings: warnings,
            content: content,
            terms: retrieval.box.result, cachedPath: path)
    }
}

/// A counter of the requests of one retrieval, whether it succeeds or fails.
package final class AttemptCount: Sendable {
    private let value = Atomic(0)

    package init() {}

    package var count: Int { value.load(ordering: .relaxed) }

    func add(_ number: Int) { value.add(number, ordering: .relaxed) }
}
