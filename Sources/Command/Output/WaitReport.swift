import KFCore
import Synchronization

/// The waits of a run, for its progress, and the messages about waits: all of them and retries with `-v`, and otherwise one
/// for each host with a long wait.
final class WaitReport: Sendable {
    /// The time until which each host rests, as far as it was told.
    private let rests = Mutex<[String: ContinuousClock.Instant]>([:])
    private let told = Mutex<Set<String>>([])
    private let printsAll: Bool
    private let printsLong: Bool

    init(all: Bool = false, long: Bool = false) { (printsAll, printsLong) = (all, long) }

    convenience init(_ common: CommonSettings) { self.init(all: common.verbose, long: !common.quiet) }

    /// The host that gets no requests for the longest, and that time in seconds; nil when there is none.
    var longest: (host: String, seconds: Int)? {
        guard let (host, end) = rests.withLock({ $0.max { $0.value < $1.value } }), end > .now else { return nil }
        return (host, Int(clamping: (ContinuousClock.now.duration(to: end) / .seconds(1)).rounded(.up)))
    }

    static func tell(_ context: RetryContext, _ delay: Duration, of count: Int) {
        let name = Terminal.visible(RequestURL.redacted(context.source.name))
        Terminal.printError(
            "kf: \(name): \(Terminal.visible(context.error.message)), waiting \(text(delay)) "
                + "(retry \(context.retriedCount + 1) of \(count))")
    }

    /// Tells that a host gets no requests for a while. Several transfers to it may be refused for the same reason.
    func tell(_ host: String, _ rest: HostRest) {
        let end = ContinuousClock.now + rest.span
        let isKnown = rests.withLock { rests in
            if let known = rests[host], known + .seconds(1) >= end { return true }
            rests[host] = end
            return false
        }
        if isKnown { return }
        let (reason, request): (String, String?) =
            switch rest {
            case .retryAfter: ("Retry-After", "as it asked")
            case .limited: ("too many requests", "which refuses more requests")
            case .quota: ("RateLimit", "as it asked")
            // Its images fail, and none waits.
            case .circuitOpen(let failures, _): ("circuit open after \(failures) failures in a row", nil)
            }
        let (name, span) = (Terminal.visible(host), Self.text(rest.span))
        if printsAll {
            Terminal.printError("kf: \(name): no requests for \(span) (\(reason))")
        } else if printsLong, let request, rest.span > .seconds(2), told.withLock({ $0.insert(host).inserted }) {
            Terminal.printError("kf: waiting \(span) for \(name), \(request)")
        }
    }

    /// `2 s`, `1.5 s`, `250 ms`
    static func text(_ span: Duration) -> String {
        guard span.milliseconds >= 1000 else { return "\(span.milliseconds) ms" }
        let tenths = (span.milliseconds + 50) / 100
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
}
