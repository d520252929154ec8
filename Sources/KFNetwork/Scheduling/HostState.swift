/// What an engine has learnt about a host from its answers: the requests that it bears at once and a second, its rest,
/// and its circuit. A value without a clock: callers pass the time.
struct HostState {
    /// The number of places at first; each answer adds one. A host of 30 ms loses 60 ms by them.
    static let firstPlaces = 2
    /// The failures in a row for which a time-out counts while the host has never answered.
    static let silentWeight = 3
    /// The longest rest, and the longest time without any other answer than refusals for a limit.
    static let longestRest = Duration.seconds(300)
    /// The rest after a refusal for a limit that states none; it doubles while no answer comes in between.
    static let plainRest = Duration.milliseconds(500)
    static let plainDoublings = 6

    private enum Circuit {
        /// The failures in a row, by their weight.
        case closed(weight: Int)
        case open(until: MonotonicTime)
        /// This transfer decides whether the circuit closes.
        case trying(UInt64)
    }

    /// Whether another request may start.
    enum Admission {
        case now
        case at(MonotonicTime)
        /// Another one must end first.
        case full
        /// The circuit is open: waiting transfers fail.
        case refused
    }

    /// The starts a second that the options allow; nil is unlimited.
    private let rate: Double?
    private let mostPlaces: Double
    private let failuresToOpenCircuit: Int
    private let circuitSpan: Duration
    private var places: Double
    private(set) var hasAnswered = false
    private var circuit = Circuit.closed(weight: 0)
    private var failures = 0
    /// The end of the rest for a limit of the host: a refusal, or a quota that is used up.
    private(set) var rest = MonotonicTime.distantPast
    /// The end of the rest in which the engine observes the host.
    private var observed = MonotonicTime.distantPast
    /// The earliest time of the next start, from the rates.
    private(set) var next = MonotonicTime.distantPast
    private var pace: Pace?
    private var past = AnswerCount()
    /// Refusals of requests that started before this time count once, together.
    private var decreasedAt = MonotonicTime.distantPast
    /// The start of the time in which every answer has been a refusal for a limit, and their number.
    private var limitedSince = MonotonicTime.distantFuture
    private var refusals = 0
    private var quota: RequestQuota?

    init(_ limits: EngineConfiguration, of host: String) {
        rate = limits.ratesByHost[host] ?? limits.ratePerHost.flatMap { $0 > 0 ? $0 : nil }
        mostPlaces = Double(max(1, limits.maxPerHost))
        places = min(Double(Self.firstPlaces), mostPlaces)
        failuresToOpenCircuit = limits.failuresToOpenCircuit
        circuitSpan = limits.circuitSpan
    }

    /// The earliest time of the next start.
    var earliest: MonotonicTime { max(rest, observed, next) }

    /// Whether the host gets more places when it begins to answer.
    var isGrowing: Bool { places < mostPlaces || !hasAnswered }

    /// Whether answers change nothing but the number of places.
    var isSettled: Bool {
        if case .closed = circuit { hasAnswered } else { false }
    }

    /// The time for which waiting transfers are refused; nil if they are not.
    func refusal(now: MonotonicTime) -> Duration? {
        guard case .open(let until) = circuit, until > now else { return nil }
        return now.span(to: until)
    }

    /// Whether the state must outlive an idle queue.
    func isNotable(now: MonotonicTime) -> Bool {
        if case .closed(weight: 0) = circuit { pace != nil || rest > now } else { true }
    }

    func admission(active: Int, now: MonotonicTime) -> Admission {
        switch circuit {
        case .closed where active >= Int(clamping: places): return .full
        case .open(let until) where until > now: return .refused
        case .trying: return .full
        case .closed, .open: return earliest <= now ? .now : .at(earliest)
        }
    }

    /// Notes the start of a transfer. Returns the change of `next`, which `giveBack` reverts; nil if there is none.
    mutating func started(_ id: UInt64, now: MonotonicTime) -> (before: MonotonicTime, after: MonotonicTime)? {
        if case .open(let until) = circuit, until <= now { circuit = .trying(id) }
        if quota != nil, let end = quota?.take(now: now) { rest = max(rest, end) }
        guard rate != nil || pace != nil else { return nil }
        let before = next
        next = now
        if let pace = pace?.grown(now: now) {
            self.pace = pace
            // A start that the loop makes a little late does not delay those behind it.
            let gap = MonotonicTime.nanoseconds(1 / pace.rate)
            next = (before.advanced(nanoseconds: gap) > now ? before : now).advanced(nanoseconds: gap)
        }
        if let rate { next = max(next, now.advanced(nanoseconds: MonotonicTime.nanoseconds(1 / rate))) }
        return (before, next)
    }

    /// Returns whether the turn of a transfer that did not start was given back.
    mutating func giveBack(_ turn: (before: MonotonicTime, after: MonotonicTime)) -> Bool {
        guard next == turn.after else { return false }
        next = turn.before
        return true
    }

    mutating func observe(until end: MonotonicTime) { observed = max(observed, end) }

    /// Notes that the host has begun to send an image: it gets another place.
    mutating func begins() {
        hasAnswered = true
        places = min(mostPlaces, places + (decreasedAt == .distantPast ? 1 : 1 / places))
    }

    /// Notes the end of a request. `hasBegun`: its answer has brought a place already. Returns the rest that begins with it,
    /// if it is worth telling.
    mutating func ended(
        _ id: UInt64, _ outcome: HostOutcome, startedAt start: MonotonicTime, hasBegun: Bool = false,
        now: MonotonicTime
    ) -> HostRest? {
        switch outcome {
        case .unknown:
            if case .trying(id) = circuit { circuit = .open(until: now) }
        case .answered(let quota):
            answered(hasBegun: hasBegun, now: now)
            guard let quota, quota.left < 2 * Int(clamping: places) else { break }
            self.quota = quota
            if quota.left == 0 {
                rest = max(rest, quota.end)
                return .quota(now.span(to: quota.end))
            }
        case .limited(let span, let isRepeated):
            close()
            hasAnswered = true
            // A URL that is refused again and again, while others are served, must not slow its host.
            let counts = !isRepeated || refusals > 0
            return refused(for: span, startedAt: counts ? start : .distantPast, now: now)
        case .unavailable:
            hasAnswered = true
            // A host that answers nothing else is down, and shows no pace.
            if past.total > 0 { decrease(startedAt: start, span: nil, rests: false, now: now) }
            return failed(id, weight: 1, now: now)
        case .failed(let hasAnswered):
            if hasAnswered { self.hasAnswered = true }
            return failed(id, weight: 1, now: now)
        case .silent: return failed(id, weight: hasAnswered ? 1 : Self.silentWeight, now: now)
        }
        return nil
    }

    /// Whether the host has only refused requests for longer than a transfer waits for it.
    func isBarren(now: MonotonicTime) -> Bool {
        limitedSince <= now && limitedSince.span(to: max(rest, now)) > Self.longestRest
    }

    private mutating func answered(hasBegun: Bool, now: MonotonicTime) {
        close()
        if !hasBegun { begins() }
        limitedSince = .distantFuture
        refusals = 0
        past.add(now: now)
        pace?.answered()
    }

    private mutating func refused(
        for span: Duration?, startedAt start: MonotonicTime, now: MonotonicTime
    ) -> HostRest? {
        limitedSince = min(limitedSince, now)
        let asked = span.map { min($0, Self.longestRest) }
        if let asked { rest = max(rest, now + asked) }
        decrease(startedAt: start, span: asked, rests: asked == nil, now: now)
        if failuresToOpenCircuit > 0, isBarren(now: now) || span ?? .zero > Self.longestRest {
            failures += 1
            let end = max(rest, now + circuitSpan)
            circuit = .open(until: end)
            return .circuitOpen(failures: max(failures, refusals), now.span(to: end))
        }
        if let asked { return .retryAfter(asked) }
        return rest >= now + .seconds(1) ? .limited(now.span(to: rest)) : nil
    }

    /// Halves the places, and learns the pace or lowers it. `rests`: the host rests, although it has not asked for that.
    private mutating func decrease(startedAt start: MonotonicTime, span: Duration?, rests: Bool, now: MonotonicTime) {
        guard start > decreasedAt else { return }
        decreasedAt = now
        places = max(1, places / 2)
        if rests, pace == nil || refusals > 0 {
            rest = max(rest, now + Self.plainRest * (1 << min(refusals, Self.plainDoublings)))
        }
        refusals += 1
        let end = max(rest, now)
        if pace == nil {
            pace = Pace(past, span: span ?? .zero, now: now, from: end)
        } else {
            pace?.lower(now: now, from: end)
        }
        next = end
    }

    private mutating func close() {
        switch circuit {
        case .closed(weight: 0): return
        case .closed: break
        // The host shows anew what it bears.
        case .open, .trying: places = min(places, Double(Self.firstPlaces))
        }
        circuit = .closed(weight: 0)
        failures = 0
    }

    private mutating func failed(_ id: UInt64, weight: Int, now: MonotonicTime) -> HostRest? {
        guard failuresToOpenCircuit > 0 else { return nil }
        switch circuit {
        case .open: return nil
        case .trying(let trial) where trial != id: return nil
        case .closed(let before):
            failures += 1
            circuit = .closed(weight: before + weight)
            guard before + weight >= failuresToOpenCircuit else { return nil }
        case .trying: failures += 1
        }
        circuit = .open(until: now + circuitSpan)
        return .circuitOpen(failures: failures, circuitSpan)
    }
}

/// What the end of a request says about its host.
enum HostOutcome {
    /// The host serves, even if it refused this request. It may have told how many more it allows.
    case answered(RequestQuota? = nil)
    /// Status 429, or 503 with Retry-After: the host limits its requests. `isRepeated`: the same request was refused
    /// twice before.
    case limited(Duration?, isRepeated: Bool = false)
    /// Status 503 alone, which nginx sends for its limits, and others when they are down.
    case unavailable
    /// The host reported that it cannot serve, or the connection failed.
    case failed(hasAnswered: Bool)
    /// The host did not answer in time.
    case silent
    /// The request says nothing about the host.
    case unknown
}

/// The reason why a host gets no requests for a while.
package enum HostRest: Sendable, Equatable {
    /// A response asked for it with Retry-After.
    case retryAfter(Duration)
    /// The host has refused requests for a limit again and again, without a time.
    case limited(Duration)
    /// The host allows no more requests until then, as its headers say.
    case quota(Duration)
    /// The circuit breaker opened after so many failures in a row.
    case circuitOpen(failures: Int, Duration)

    package var span: Duration {
        switch self {
        case .retryAfter(let span), .limited(let span), .quota(let span), .circuitOpen(_, let span): span
        }
    }
}
