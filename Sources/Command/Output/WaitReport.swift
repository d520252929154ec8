import KFCore
import Synchronization

/// The waits of a run, for its progress, and the messages about waits: all of them and retries with `-v`, and otherwise one
/// for each host with a long wait.
final class WaitReport: Sendable {
    /// The time until which each host rests, as far as it was told, and whether an image waits for that.
    private let rests = Mutex<[String: (end: ContinuousClock.Instant, isAwaited: Bool)]>([:])
    private let told = Mutex<Set<String>>([])
    private let printsAll: Bool
    private let printsLong: Bool

    init(all: Bool = false, long: Bool = false) { (printsAll, printsLong) = (all, long) }

    convenience init(_ common: CommonSettings) { self.init(all: common.verbose, long: !common.quiet) }

    /// The host whose rest is awaited the longest, and that time in seconds; nil when there is none.
    var longest: (host: String, seconds: Int)? {
        let awaited = rests.withLock { rests in
            rests.filter(\.value.isAwaited).max { $0.value.end < $1.value.end }
        }
        guard let (host, (end, _)) = awaited, end > .now else { return nil }
        return (host, Int(clamping: (ContinuousClock.now.duration(to: end) / .seconds(1)).rounded(.up)))
    }

    static func tell(_ context: RetryContext, _ delay: Duration, of count: Int) {
        let name = Terminal.visible(RequestURL.redacted(context.source.name))
        Terminal.printError(
            "kf: \(name): \(Terminal.visible(context.error.message)), waiting \(text(delay)) "
                + "(retry \(context.retriedCount + 1) of \(count))")
    }

    /// Tells that a host gets no requests for a while, or that images wait for a rest that was told. Several transfers to it
    /// may be refused for the same reason.
    func tell(_ host: String, _ rest: HostRest, isAwaited: Bool) {
        let (reason, request): (String, String?) =
            switch rest {
            case .retryAfter: ("Retry-After", "as it asked")
            case .limited: ("too many requests", "which refuses more requests")
            case .quota: ("RateLimit", "as it asked")
            // Its images fail, or are set aside.
            case .circuitOpen(let failures, _): ("circuit open after \(failures) failures in a row", nil)
            }
        let now = ContinuousClock.now
        let (left, isNew) = rests.withLock { rests in
            let known = rests[host] ?? (now, false)
            let end = isAwaited ? known.end : max(known.end, now + rest.span)
            rests[host] = (end, isAwaited || request == nil || known.isAwaited && known.end > now)
            return (now.duration(to: end), known.end + .seconds(1) < end)
        }
        let name = Terminal.visible(host)
        if printsAll {
            if isNew { Terminal.printError("kf: \(name): no requests for \(Self.text(rest.span)) (\(reason))") }
        } else if printsLong, isAwaited, let request, left > .seconds(2), told.withLock({ $0.insert(host).inserted }) {
            Terminal.printError("kf: waiting \(Self.text(left)) for \(name), \(request)")
        }
    }

    /// `2 s`, `1.5 s`, `250 ms`
    static func text(_ span: Duration) -> String {
        guard span.milliseconds >= 1000 else { return "\(span.milliseconds) ms" }
        let tenths = (span.milliseconds + 50) / 100
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
}
