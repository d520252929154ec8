import Synchronization

/// How long calls wait for other processes: a limit for each wait, and a moment at which all waits end.
package final class Patience: Sendable {
    /// The limit of each wait unless another is given.
    package static let standardLimit = Duration.seconds(5)

    /// The longest that one call waits.
    package let limit: Duration
    private let cutoff: Mutex<ContinuousClock.Instant?>

    package init(limit: Duration = standardLimit, until cutoff: ContinuousClock.Instant? = nil) {
        self.limit = limit
        self.cutoff = Mutex(cutoff)
    }

    /// Ends every wait within `span`, those under way and those to come.
    package func end(within span: Duration) {
        let end = ContinuousClock.now + span
        cutoff.withLock { $0 = min($0 ?? end, end) }
    }

    /// When a wait that began at `start` ends.
    func deadline(from start: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let end = start + limit
        return cutoff.withLock { $0.map { min($0, end) } } ?? end
    }
}
