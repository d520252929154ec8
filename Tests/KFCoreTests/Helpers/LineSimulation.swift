import KFNetwork

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

/// A run over model hosts, which answer after some seconds: the real bookkeeping and its lines, with a clock that jumps from
/// event to event. The engine of the model has 64 places, 8 for each host, and takes hosts in turn.
struct LineSimulation {
    private struct Event {
        let time: Double
        let number: Int
        /// The item that has arrived; nil for lines that have been read.
        let item: PrefetchItem?
    }

    private struct Host {
        let latency: Double
        var waiting: ArraySlice<PrefetchItem> = []
        var active = 0
        var isListed = false
    }

    /// The seconds that reading 256 lines takes.
    private static let reading = 0.005

    private var run: PrefetchRun
    private var unread: ArraySlice<PrefetchItem>
    private var hosts: [String: Host]
    private var turns: [String] = []
    private var active = 0
    private var events: [Event] = []
    private var eventCount = 0
    private(set) var time = 0.0
    /// The times of the first image of each host.
    private(set) var firsts: [String: Double] = [:]
    private(set) var ended = 0

    /// `list` are the hosts of the lines.
    init(_ latencies: [String: Double], _ list: [String]) throws {
        var configuration = ImagePrefetcher.Configuration()
        (configuration.maxConcurrentDownloads, configuration.maxPerHost) = (.max, .max)
        run = PrefetchRun(configuration, window: 1024)
        hosts = latencies.mapValues { Host(latency: $0) }
        var number = 0
        let items = try list.map { host in
            number += 1
            var item = PrefetchItem(
                .init(line: number, source: .network(try RequestURL("http://\(host)/\(number)"))))
            item.position = number
            return item
        }
        unread = items[...]
    }

    /// Runs until each item has ended, or `host` has got an image. Returns the time.
    mutating func run(until host: String? = nil) -> Double {
        while !run.isOver, host.map({ firsts[$0] == nil }) ?? true {
            repeat {
                for wish in run.takeOff() { start(wish.item) }
                while let items = run.toLookUp() {
                    run.take(PrefetchFindings(missing: items.map { PrefetchWish(item: $0) }, isLookedUp: true))
                }
                for wish in run.takeOff() { start(wish.item) }
            } while run.resume(now: .now)
            while run.startsReading() { post(after: Self.reading * Double(reads), nil) }
            guard let event = next() else { break }
            time = event.time
            guard let item = event.item else {
                let block = unread.prefix(256)
                unread = unread.dropFirst(256)
                reads -= 1
                run.take(PrefetchBlock(items: Array(block), isLast: unread.isEmpty))
                continue
            }
            end(item)
        }
        return time
    }

    /// The number of blocks that are being read, one after the other.
    private var reads = 0

    private mutating func start(_ item: PrefetchItem) {
        guard let name = item.host else { return }
        hosts[name]?.waiting.append(item)
        list(name)
        serve()
    }

    private mutating func list(_ name: String) {
        guard let host = hosts[name], !host.isListed, !host.waiting.isEmpty, host.active < 8 else { return }
        hosts[name]?.isListed = true
        turns.append(name)
    }

    private mutating func serve() {
        while active < 64, !turns.isEmpty {
            let name = turns.removeFirst()
            hosts[name]?.isListed = false
            guard let item = hosts[name]?.waiting.popFirst() else { continue }
            hosts[name]?.active += 1
            active += 1
            post(after: hosts[name]?.latency ?? 0, item)
            list(name)
        }
    }

    private mutating func end(_ item: PrefetchItem) {
        guard let name = item.host else { return }
        active -= 1
        hosts[name]?.active -= 1
        firsts[name] = firsts[name] ?? time
        list(name)
        serve()
        if let outcome = run.land(PrefetchOutcome(item: item, ending: .retrieved([]), attempts: 1)) {
            run.count(outcome)
            ended += 1
        }
    }

    private mutating func post(after span: Double, _ item: PrefetchItem?) {
        if item == nil { reads += 1 }
        eventCount += 1
        let event = Event(time: time + span, number: eventCount, item: item)
        var child = events.count
        events.append(event)
        while child > 0, precedes(event, events[(child - 1) / 2]) {
            events.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func next() -> Event? {
        guard !events.isEmpty else { return nil }
        events.swapAt(0, events.count - 1)
        let first = events.removeLast()
        var parent = 0
        while true {
            var best = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < events.count {
                if precedes(events[child], events[best]) { best = child }
            }
            if best == parent { return first }
            events.swapAt(best, parent)
            parent = best
        }
    }

    private func precedes(_ a: Event, _ b: Event) -> Bool { a.time != b.time ? a.time < b.time : a.number < b.number }
}
