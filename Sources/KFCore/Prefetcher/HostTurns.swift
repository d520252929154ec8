/// Items that wait, host by host. Hosts take turns, and each has only so many in flight: one that is slow, down or asks
/// for patience does not hold up the others.
struct HostTurns {
    private final class Host {
        var waiting: [PrefetchItem] = []
        var head = 0
        var inFlight = 0
        /// It stands in the round.
        var isListed = false

        var hasWaiting: Bool { head < waiting.count }

        func popFirst() -> PrefetchItem {
            let item = waiting[head]
            head += 1
            if head == waiting.count || head > 256 && head * 2 > waiting.count {
                waiting.removeFirst(head)
                head = 0
            }
            return item
        }
    }

    /// In flight at once, over all hosts, and what one host always may have.
    private let limit: Int
    private let perHost: Int
    private var hosts: [String: Host] = [:]
    /// The hosts that may be served, in their order.
    private var round: [String] = []
    private var nextInRound = 0
    private(set) var waiting = 0
    /// Of the records that wait.
    private(set) var bytes = 0
    private(set) var inFlight = 0

    init(limit: Int, perHost: Int) {
        self.limit = limit
        self.perHost = min(perHost, limit)
    }

    mutating func add(_ item: PrefetchItem) {
        let name = item.host
        let host = hosts[name] ?? Host()
        hosts[name] = host
        host.waiting.append(item)
        waiting += 1
        bytes += item.record.count
        list(host, name)
    }

    /// The next item to start; nil when there is no room, or nobody whose turn it can be.
    mutating func next() -> PrefetchItem? {
        guard inFlight < limit else { return nil }
        while nextInRound < round.count {
            let name = round[nextInRound]
            nextInRound += 1
            if nextInRound == round.count || nextInRound > 256 && nextInRound * 2 > round.count {
                round.removeFirst(nextInRound)
                nextInRound = 0
            }
            guard let host = hosts[name] else { continue }
            host.isListed = false
            guard host.hasWaiting, host.inFlight < share else { continue }
            let item = host.popFirst()
            host.inFlight += 1
            inFlight += 1
            waiting -= 1
            bytes -= item.record.count
            list(host, name)
            return item
        }
        return nil
    }

    /// An item of this host is no longer in flight.
    mutating func land(host name: String) {
        inFlight -= 1
        guard let host = hosts[name] else { return }
        host.inFlight -= 1
        if host.inFlight == 0, !host.hasWaiting { hosts[name] = nil } else { list(host, name) }
    }

    /// Those that wait have no turn any more; gives them, host by host.
    @discardableResult
    mutating func dropWaiting() -> [PrefetchItem] {
        let dropped = hosts.values.flatMap { $0.waiting[$0.head...] }
        hosts = hosts.filter { $0.value.inFlight > 0 }
        for host in hosts.values {
            host.waiting = []
            host.head = 0
            host.isListed = false
        }
        round = []
        nextInRound = 0
        waiting = 0
        bytes = 0
        return dropped
    }

    /// What one host may have in flight: never all the room, so that there is some for the host that comes next.
    private var share: Int { max(perHost, limit / (hosts.count + 3)) }

    private mutating func list(_ host: Host, _ name: String) {
        guard !host.isListed, host.hasWaiting, host.inFlight < share else { return }
        host.isListed = true
        round.append(name)
    }
}
