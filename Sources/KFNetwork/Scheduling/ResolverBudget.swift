/// Counts threads that look up names. libcurl starts one per lookup and cannot stop it: one whose transfer has given
/// up runs on until the system's resolver gives up as well.
struct ResolverBudget {
    /// The resolver of the C library tries two servers twice for 5 s each by default.
    static let afterlife = Duration.seconds(30)

    let limit: Int
    private(set) var live = 0
    /// When threads left behind will be gone, oldest first.
    private var ghosts: [MonotonicTime] = []

    init(limit: Int) { self.limit = max(1, limit) }

    var ghostCount: Int { ghosts.count }

    /// When a place comes free, if only the departure of a ghost can bring that about.
    var nextRelease: MonotonicTime? { ghosts.first }

    mutating func canTake(now: MonotonicTime) -> Bool {
        expire(now: now)
        return live + ghosts.count < limit
    }

    mutating func take(now: MonotonicTime) -> Bool {
        guard canTake(now: now) else { return false }
        live += 1
        return true
    }

    /// The lookup ended, or (`abandoned`) its transfer did while the thread goes on.
    mutating func release(abandoned: Bool, now: MonotonicTime) {
        live -= 1
        if abandoned { ghosts.append(now + Self.afterlife) }
    }

    private mutating func expire(now: MonotonicTime) {
        let gone = ghosts.prefix { $0 <= now }.count
        if gone > 0 { ghosts.removeFirst(gone) }
    }
}
