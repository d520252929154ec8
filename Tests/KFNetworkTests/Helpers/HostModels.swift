@testable import KFNetwork

/// A host of a simulation: what it answers, and after how many seconds.
protocol HostModel: Sendable {
    mutating func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer)
}

enum ModelAnswer {
    case image
    case limited(retryAfter: Double?)
    case status(Int)
    /// Nothing: the client gives up at its time-out.
    case silence
    case refusedConnection
    case redirect(to: String)
}

/// Answers everything after the same time.
struct Fixed: HostModel {
    let latency: Double

    func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) { (latency, .image) }
}

/// nginx's limit_req with nodelay: a bucket that leaks `rate` requests a second and holds `burst`.
struct LimitReq: HostModel {
    let rate: Double
    let burst: Double
    var latency = 0.001
    var retryAfter: Double?
    private var excess = 0.0
    private var last: Double?

    init(rate: Double, burst: Double, latency: Double = 0.001, retryAfter: Double? = nil) {
        (self.rate, self.burst, self.latency, self.retryAfter) = (rate, burst, latency, retryAfter)
    }

    mutating func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
        let next = last.map { max(0, excess - rate * (now - $0) + 1) } ?? 0
        if next > burst { return (latency, .limited(retryAfter: retryAfter)) }
        (excess, last) = (next, now)
        return (latency, .image)
    }
}

/// Allows a number of requests in each span, and says when the next one begins.
struct Window: HostModel {
    let most: Int
    let span: Double
    private var window = -1.0
    private var count = 0

    init(most: Int, span: Double) { (self.most, self.span) = (most, span) }

    mutating func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
        let current = (now / span).rounded(.down)
        if current != window { (window, count) = (current, 0) }
        count += 1
        guard count > most else { return (0.02, .image) }
        return (0.02, .limited(retryAfter: max(1, ((current + 1) * span - now).rounded(.up))))
    }
}

/// Allows so many requests at once.
struct ConnectionLimit: HostModel {
    let most: Int

    func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
        active > most ? (0.001, .limited(retryAfter: nil)) : (0.03, .image)
    }
}

struct Silent: HostModel {
    func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) { (.infinity, .silence) }
}

struct Status: HostModel {
    let status: Int

    func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
        (0.005, .status(status))
    }
}

/// Fails in the first part of each period, and serves in the rest.
struct Flapping: HostModel {
    let down: Double
    let period: Double

    func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
        now.truncatingRemainder(dividingBy: period) < down ? (0.005, .status(500)) : (0.01, .image)
    }
}

/// Redirects the first paths to another host, and serves the others.
struct Redirecting: HostModel {
    let first: Int
    let target: String

    func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
        (0.005, path < first ? .redirect(to: target) : .image)
    }
}

/// Refuses each connection.
struct Dead: HostModel {
    func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
        (0.001, .refusedConnection)
    }
}
