import Synchronization

/// Counts the requests that one retrieval makes, whether it succeeds or fails.
package final class AttemptCount: Sendable {
    private let value = Atomic(0)

    package init() {}

    package var count: Int { value.load(ordering: .relaxed) }

    func add(_ number: Int) { value.add(number, ordering: .relaxed) }
}
