import KFPipeline

/// What a run is told from outside, or by its timers.
enum PrefetchOrder: Sendable, Equatable {
    /// Nothing new starts any more, for this reason.
    case finish(PrefetchReport.Ending)
    /// Items in flight are cancelled.
    case cutOff
    /// All items are cancelled, and what has not been read is left.
    case stop
}

extension ImagePrefetcher.Configuration {
    /// Returns a task that calls `reach` with the order after the span, unless it is cancelled before; nil without a span,
    /// and for one that is over: then it is called at once.
    func timer(
        _ span: Duration?, _ order: PrefetchOrder, _ reach: @escaping @Sendable (PrefetchOrder) -> Void
    ) -> Task<Void, Never>? {
        guard let span else { return nil }
        if span <= .zero {
            reach(order)
            return nil
        }
        return Task { [clock] in
            do { try await clock.sleep(for: span) } catch { return }
            reach(order)
        }
    }
}
