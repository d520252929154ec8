/// The limit on resolver threads. libcurl starts one per lookup and cannot stop it: the thread of an abandoned lookup
/// runs until the system's resolver gives up.
struct ResolverBudget {
    /// The assumed lifetime of an abandoned lookup. By default, libc's resolver tries two servers twice for 5 s each.
    static let afterlife = Duration.seconds(30)

    let limit: Int
    private(set) var live = 0
    /// The times at which the threads of abandoned lookups will have ended, oldest first.
    private var ghosts: [MonotonicTime] = []

    init(limit: Int) { self.limit = max(1, limit) }

    /// The time at which the first abandoned lookup ends and frees its place; nil if there is none.
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

    /// Ends a lookup. `abandoned`: its transfer has ended, but the thread is still running.
    mutating func release(abandoned: Bool, now: MonotonicTime) {
        live -= 1
        if abandoned { ghosts.append(now + Self.afterlife) }
    }

    private mutating func expire(now: MonotonicTime) {
        let gone = ghosts.prefix { $0 <= now }.count
        if gone > 0 { ghosts.removeFirst(gone) }
    }
}
