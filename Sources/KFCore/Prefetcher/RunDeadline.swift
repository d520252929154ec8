/// The time limit of a run over many sources. Nothing new starts after the deadline, and what is in flight then may take
/// `grace` longer.
package struct RunDeadline: Sendable {
    package enum Phase: Sendable {
        /// Nothing new starts any more.
        case deadline
        /// Downloads in flight are cancelled.
        case cutOff
    }

    private let deadline: Duration?
    private let grace: Duration?
    private let clock: any Clock<Duration>

    /// Without a deadline the run has no limit; without `grace` it has no cut-off.
    package init(_ deadline: Duration?, grace: Duration?, clock: any Clock<Duration> = ContinuousClock()) {
        self.deadline = deadline
        self.grace = grace
        self.clock = clock
    }

    /// Waits for the phase that follows `phase`, and returns it. Nil when there is none, or when the task is cancelled.
    package func next(after phase: Phase? = nil) async -> Phase? {
        let next: (span: Duration?, phase: Phase)
        switch phase {
        case nil: next = (deadline, .deadline)
        case .deadline: next = (grace, .cutOff)
        case .cutOff: return nil
        }
        guard let span = next.span else { return nil }
        do { try await clock.sleep(for: span) } catch { return nil }
        return next.phase
    }
}
