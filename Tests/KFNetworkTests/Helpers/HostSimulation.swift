import Testing

@testable import KFNetwork

/// A run over model hosts: the real scheduler with a clock that jumps from event to event.
struct HostSimulation {
    /// What came of a host's images.
    struct Tally {
        var requests = 0
        var done = 0
        var failed = 0
        /// Those of `failed` that the circuit has refused.
        var refused = 0
        /// The times of the first and the last image in seconds.
        var first = Double.infinity
        var last = 0.0
    }

    private final class Image {
        let source: String
        let path: Int
        let ticket: Ticket
        var host: String
        var queue: HostQueue?
        var rests = LimitedRests()
        var retries = 0

        init(_ source: String, _ path: Int, _ id: UInt64) {
            (self.source, self.path, host) = (source, path, source)
            ticket = Ticket(id: id, order: id, priority: 0.5)
        }
    }

    private struct Event: HeapElement {
        enum Kind {
            case end(ModelAnswer)
            /// The end of a rest.
            case queue
            case wake
        }

        let time: MonotonicTime
        let number: Int
        let image: Image?
        let kind: Kind

        func precedes(_ other: Event) -> Bool { time != other.time ? time < other.time : number < other.number }
    }

    private var hosts: [String: any HostModel]
    private var scheduler: Scheduler
    private var events = Heap<Event>()
    private var eventCount = 0
    private var images: [UInt64: Image] = [:]
    private var now = schedulerStart
    /// The time of the wake that has been posted last.
    private var wake = MonotonicTime.distantPast
    private var active: [String: Int] = [:]
    private var random: UInt64 = 1
    private let limits: EngineConfiguration
    private let timeout: Double
    private let retries: Int
    private(set) var tallies: [String: Tally] = [:]
    private(set) var ended = 0

    init(
        _ hosts: [String: any HostModel], total: Int = 64, perHost: Int = 8, failures: Int = 10, timeout: Double = 1,
        retries: Int = 0
    ) {
        self.hosts = hosts
        limits = EngineConfiguration(total: total, perHost: perHost, failures: failures)
        scheduler = Scheduler(limits)
        (self.timeout, self.retries) = (timeout, retries)
    }

    var time: Double { schedulerStart.seconds(to: now) }

    subscript(host: String) -> Tally { tallies[host] ?? Tally() }

    /// Lists images of a host, numbered from 0, after some seconds. Hosts are numeric, so that no name is looked up.
    mutating func add(_ count: Int, of host: String, at seconds: Double = 0) {
        for path in 0..<count {
            let image = Image(host, path, UInt64(images.count + 1))
            images[image.ticket.id] = image
            if seconds > 0 { post(.queue, after: seconds, image) } else { enqueue(image) }
        }
    }

    /// Runs until each image has ended.
    mutating func run() {
        startWaiting()
        while ended < images.count, let event = events.popFirst() {
            now = max(now, event.time)
            switch (event.kind, event.image) {
            case (.end(let answer), let image?): take(answer, of: image)
            case (.queue, let image?): enqueue(image)
            default: break
            }
            startWaiting()
        }
        #expect(ended == images.count && scheduler.active == 0 && scheduler.waiting == 0)
    }

    private mutating func post(_ kind: Event.Kind, after span: Double, _ image: Image? = nil) {
        post(kind, at: now.advanced(nanoseconds: MonotonicTime.nanoseconds(span)), image)
    }

    private mutating func post(_ kind: Event.Kind, at time: MonotonicTime, _ image: Image? = nil) {
        eventCount += 1
        events.insert(Event(time: time, number: eventCount, image: image, kind: kind))
    }

    private mutating func enqueue(_ image: Image) {
        let origin = Origin(scheme: "http", host: image.host, port: 80)
        image.queue = scheduler.enqueue(image.ticket, at: origin, now: now)
    }

    private mutating func startWaiting() {
        while let ticket = scheduler.next(now: now) {
            guard let image = images[ticket.id], let queue = image.queue else { continue }
            if queue.refusal(now: now) != nil {
                scheduler.refuse(ticket, of: queue, now: now)
                tallies[image.source, default: Tally()].refused += 1
                end(image, isDone: false)
                continue
            }
            #expect(queue.state.earliest <= now || queue.active > 0)
            active[image.host, default: 0] += 1
            #expect(active[image.host, default: 0] <= limits.maxPerHost && scheduler.active <= limits.maxConnections)
            tallies[image.host, default: Tally()].requests += 1
            let (time, running) = (time, active[image.host, default: 0])
            let (after, answer) =
                hosts[image.host]?.ask(image.path, now: time, active: running) ?? (0, .refusedConnection)
            post(.end(after < timeout ? answer : .silence), after: min(after * (1 + jitter() / 5), timeout), image)
        }
        guard let next = scheduler.nextWake, wake <= now || next < wake else { return }
        wake = next
        post(.wake, at: max(next, now.advanced(nanoseconds: 1)))
    }

    private mutating func take(_ answer: ModelAnswer, of image: Image) {
        guard let queue = image.queue else { return }
        active[image.host, default: 0] -= 1
        let outcome: HostOutcome =
            switch answer {
            case .image, .redirect: .answered()
            case .limited(let span):
                .limited(span.map { .seconds($0) }, isRepeated: image.rests.isRepeating)
            case .status(503): .unavailable
            case .status(let status): 500...599 ~= status ? .failed(hasAnswered: true) : .answered()
            case .silence: .silent
            case .refusedConnection: .failed(hasAnswered: false)
            }
        scheduler.finish(image.ticket, of: queue, outcome, abandonedLookup: false, now: now)
        switch answer {
        case .image: end(image, isDone: true)
        case .redirect(let target):
            image.host = target
            enqueue(image)
        case .limited(let span):
            if !queue.state.isBarren(now: now),
                let rest = image.rests.add(until: queue.state.rest, asked: span.map { .seconds($0) }, now: now)
            {
                return post(.queue, after: max(1e-3, rest / .seconds(1)), image)
            }
            retry(image)
        case .status, .silence, .refusedConnection: retry(image)
        }
    }

    private mutating func retry(_ image: Image) {
        guard image.retries < retries else { return end(image, isDone: false) }
        image.retries += 1
        post(.queue, after: Double(1 << (image.retries - 1)) * (0.5 + jitter() / 2), image)
    }

    private mutating func end(_ image: Image, isDone: Bool) {
        ended += 1
        var tally = tallies[image.source, default: Tally()]
        if isDone {
            tally.done += 1
            tally.first = min(tally.first, time)
            tally.last = time
        } else {
            tally.failed += 1
        }
        tallies[image.source] = tally
    }

    /// The same numbers in every run, from 0 to 1.
    private mutating func jitter() -> Double {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Double(random >> 11) / Double(1 << 53)
    }
}
