import KFImaging
import KFStorage
import KFTerms

/// The outcome of a retrieval. It never changes, and everything from the index to the printer shares it.
package final class Outcome: Sendable {
    package enum Content: Sendable {
        case file(CachedFile)
        /// A stored file that is not open: few results of a batch are read.
        case stored(StoredFile)
        /// Bytes with the facts about them. The file is where they were stored, if another process has removed it.
        case bytes([UInt8], ImageFacts, StoredFile? = nil)
        /// An image in the memory of this cache.
        case memory(CachedImage, ImageCache)
    }

    /// The image that was asked for.
    enum Subject: Sendable {
        /// The retrieval that brought the image, and that of the call. They differ after an alternative source.
        case retrieval(Retrieval, asked: Retrieval)
        /// An image that memory had before there was a retrieval.
        case named(Source, EntryKey, ResultTerms)
    }

    /// The facts about a retrieval beside its image.
    struct Facts: Sendable {
        var response: ResponseFacts?
        var attempts: Int
        var check: ImageCheck.Extent?
        var failure: KingfisherError?
        /// The hash and the size of the original that was fetched, if the options ask for it.
        var original: Digest?
        var originalBytes: Int64 = 0
        /// The measures of the original; nil if they are not known, or the image's own entry has them.
        var measures: ImageMeasures?
        /// The reason of the request; nil if the caches had no such entry.
        var reason: FetchReason?
        private(set) var warnings: [ImageWarning] = []

        init(response: ResponseFacts? = nil, attempts: Int = 0, failure: KingfisherError? = nil) {
            (self.response, self.attempts, self.failure) = (response, attempts, failure)
        }

        /// Adds the warnings that are not listed yet.
        mutating func warn(_ more: [ImageWarning]) {
            for warning in more where !warnings.contains(warning) { warnings.append(warning) }
        }
    }

    let subject: Subject
    let way: RetrievalWay
    let content: Content
    let facts: Facts
    let storing: CacheStoreResult

    init(
        _ subject: Subject, _ way: RetrievalWay, _ content: Content, _ facts: Facts = Facts(),
        _ storing: CacheStoreResult = CacheStoreResult()
    ) {
        self.subject = subject
        self.way = way
        self.content = content
        self.facts = facts
        self.storing = storing
    }
}
