/// The starts a second that a host has shown to bear: additive increase, multiplicative decrease.
///
/// After the first limit the pace seeks the host's: it doubles each half second until the host refuses again. Then it grows
/// slowly, by 3 % a second and more with time. Trials with 5 % made four processes lose twice as much to refusals.
struct Pace {
    static let least = 1.0
    static let most = 1e6
    private static let step = 0.5

    /// A span in which answers are counted.
    private struct Span {
        var start: MonotonicTime
        var answers = 0.0

        /// The answers a second, of which `burst` are not counted; a lower bound of any token bucket's rate.
        func rate(without burst: Double, least: Double, now: MonotonicTime) -> Double {
            start < now ? (answers - burst) / max(start.seconds(to: now), least) : 0
        }
    }

    private(set) var rate: Double
    /// The number of answers that a bucket may have allowed at once.
    private let burst: Double
    private var isSeeking = true
    /// Since the last doubling, and since the last refusal.
    private var latest: Span
    private var whole: Span
    private var last: MonotonicTime

    /// Creates the pace of a host's first limit, from its answers so far. `start` is the end of the host's rest.
    init(_ past: AnswerCount, span: Duration, now: MonotonicTime, from start: MonotonicTime) {
        rate = max(Self.least, Double(past.total) / max(1, span / .seconds(1), past.first.seconds(to: now)))
        burst = Double(past.latest)
        (latest, whole, last) = (Span(start: start), Span(start: start), start)
    }

    mutating func answered() {
        latest.answers += 1
        whole.answers += 1
    }

    /// Returns the pace for a start at that time.
    func grown(now: MonotonicTime) -> Pace {
        var grown = self
        guard isSeeking else {
            // A pace that nothing waits for does not grow.
            let span = min(max(0, last.seconds(to: now)), 2 / rate)
            grown.rate = min(Self.most, rate * (1 + (0.03 + 0.02 * max(0, whole.start.seconds(to: now))) * span))
            grown.last = max(last, now)
            return grown
        }
        while grown.latest.start.seconds(to: now) >= Self.step, grown.rate < Self.most {
            let end = grown.latest.start.advanced(nanoseconds: MonotonicTime.nanoseconds(Self.step))
            grown.latest = Span(start: end)
            grown.rate = min(Self.most, 2 * grown.rate)
        }
        return grown
    }

    /// Lowers the pace after a refusal: to what the host has served, within a half and 95 % of the pace.
    mutating func lower(now: MonotonicTime, from start: MonotonicTime) {
        let borne = max(
            latest.rate(without: burst, least: 1e-3, now: now), whole.rate(without: burst, least: 1e-3, now: now))
        // A pace that the requests did not reach says nothing.
        let reached = max(latest.rate(without: -1, least: 0.05, now: now), whole.rate(without: -1, least: 1, now: now))
        let before = min(rate, 4 * max(reached, Self.least))
        rate = max(Self.least, min(max(borne, before * 0.5), before * 0.95))
        isSeeking = false
        (latest, whole, last) = (Span(start: start), Span(start: start), start)
    }
}

/// The number of a host's answers: all of them, and those of the last second.
struct AnswerCount {
    private(set) var first = MonotonicTime.distantFuture
    private(set) var total = 0
    private(set) var latest = 0
    private var second = MonotonicTime.distantPast

    mutating func add(now: MonotonicTime) {
        if total == 0 { first = now }
        total += 1
        if now.nanoseconds - second.nanoseconds >= 1_000_000_000 {
            second = now
            latest = 0
        }
        latest += 1
    }
}

/// The number of requests that a host still allows, as its headers say.
struct RequestQuota: Equatable {
    private(set) var left: Int
    let end: MonotonicTime

    init(left: Int, end: MonotonicTime) {
        self.left = left
        self.end = end
    }

    /// Takes a request. Returns the end of the rest that begins when none is left.
    mutating func take(now: MonotonicTime) -> MonotonicTime? {
        guard end > now else { return nil }
        left -= 1
        return left <= 0 ? end : nil
    }
}

/// The rests of one transfer whose requests were refused for limits. No retry strategy counts them.
struct LimitedRests {
    private(set) var count = 0
    private var sum = Duration.zero

    var isRepeating: Bool { count >= 2 }

    /// Adds a refusal. Returns how long the transfer rests; nil if it ends: all its rests together would be too long, or this
    /// one would end after `limit`. After its second refusal it rests for a time of its own: one URL that is always refused
    /// must not slow its host.
    mutating func add(
        until end: MonotonicTime, asked: Duration?, now: MonotonicTime, before limit: MonotonicTime = .distantFuture,
        _ most: Duration? = nil
    ) -> Duration? {
        let own = count == 0 ? .zero : HostState.plainRest * (1 << min(count - 1, HostState.plainDoublings))
        let span = max(own, asked ?? .zero, end > now ? now.span(to: end) : .zero)
        let most = min(most ?? HostState.longestRest, HostState.longestRest)
        guard sum + span <= most, now + span <= limit else { return nil }
        count += 1
        sum += span
        return span
    }
}
