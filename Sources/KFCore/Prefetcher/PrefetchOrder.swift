import KFPipeline

/// What a run is told from outside, or by its deadline.
enum PrefetchOrder: Sendable, Equatable {
    /// Nothing new starts any more, for this reason.
    case finish(PrefetchReport.Ending)
    /// Items in flight are cancelled.
    case cutOff
    /// All items are cancelled, and what has not been read is left.
    case stop
}

extension ImagePrefetcher.Configuration {
    /// Calls `reach` at the deadline, and at the end of the time for items in flight then. Returns when neither is to
    /// come, or when the task is cancelled.
    func waitForDeadline(_ reach: (PrefetchOrder) -> Void) async {
        for (span, order) in [(deadline, PrefetchOrder.finish(.deadline)), (grace, .cutOff)] {
            guard let span else { return }
            do { try await clock.sleep(for: span) } catch { return }
            reach(order)
        }
    }
}
