/// How many sources a run asks at once. What its downloader keeps by itself is nil: its queue then holds what waits, so
/// that a connection that falls idle goes on at once.
struct PrefetchLimits: Sendable {
    var total: Int?
    var perHost: Int?

    init(total: Int? = nil, perHost: Int? = nil) {
        self.total = total.map { max(1, $0) }
        self.perHost = perHost.map { max(1, $0) }
    }

    /// The downloader keeps them all.
    var areWide: Bool { total == nil && perHost == nil }
}
