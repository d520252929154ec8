import Synchronization

/// Counts the bytes that the work on one image holds, over all its stages and threads, and refuses what is too much.
final class MemoryBudget: Sendable {
    let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Counts memory that is about to be taken.
    ///
    /// - Throws: `memoryLimit`.
    func take(_ bytes: Int) throws(ImagingError) {
        // More than this is nowhere, and cannot make the sum overflow.
        guard bytes < 1 << 60 else { throw .memoryLimit(bytes: .max, limit: limit) }
        let now = used.wrappingAdd(bytes, ordering: .relaxed).newValue
        guard now > limit else { return }
        used.wrappingSubtract(bytes, ordering: .relaxed)
        throw .memoryLimit(bytes: now, limit: limit)
    }

    /// Counts memory as given back.
    func give(_ bytes: Int) {
        used.wrappingSubtract(bytes, ordering: .relaxed)
    }

    /// What could still be taken.
    var left: Int { max(0, limit - used.load(ordering: .relaxed)) }
}
