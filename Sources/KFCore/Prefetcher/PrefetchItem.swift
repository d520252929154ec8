/// One wish of a list.
public struct PrefetchItem: Sendable {
    /// Where it stood in the list, from 1.
    public let line: Int
    /// The line as it was, ready to be fed back.
    public let text: String
    /// What to fetch, or why that cannot be.
    public let source: Result<Source, KingfisherError>

    public init(line: Int, text: String, source: Result<Source, KingfisherError>) {
        self.line = line
        self.text = text
        self.source = source
    }
}

/// How one item ended.
public struct PrefetchOutcome: Sendable {
    public enum Ending: Sendable {
        /// It was in the cache already.
        case skipped(StoredFile)
        case completed(RetrieveImageResult)
        case failed(KingfisherError)
    }

    public let item: PrefetchItem
    public let ending: Ending
}

/// How a list ended.
public struct PrefetchReport: Sendable {
    public var progress = PrefetchProgress()
    /// Why it ended before its end; nil when it did not.
    public var failure: KingfisherError?
}

/// Kingfisher's counts.
public struct PrefetchProgress: Sendable, Equatable {
    public var skipped = 0
    public var failed = 0
    public var completed = 0
    /// Of the images that were fetched.
    public var bytes: Int64 = 0

    public init() {}

    public mutating func add(_ other: PrefetchProgress) {
        skipped += other.skipped
        failed += other.failed
        completed += other.completed
        bytes += other.bytes
    }
}
