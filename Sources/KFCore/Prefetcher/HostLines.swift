import KFLists

/// The items of a run that wait, in one line for each host, so that no host holds up the others.
///
/// An item waits as the light record that the list gave. So many are looked up that their host does not run dry, and hosts
/// take turns. The items of a host whose circuit is open are set aside. A value without a clock: callers pass the time.
struct HostLines {
    /// The memory that the items may take, in bytes, and that of one beside its record.
    static let mostWeight = 64 << 20
    private static let itemWeight = 704
    /// The number of items of one look-up, which is one read transaction of the index. Twice as many are in the caches of the
    /// processor no longer.
    private static let block = 256
    /// The number of items that wait for a look-up, from which no more are read.
    private static let mostHungry = 1024
    /// The number of looked-up items over all lines; beyond it, only lines without any get some, up to the second number.
    private static let mostReady = 1024
    private static let mostReadyInNeed = 4096
    private static let readyInNeed = 16
    /// The number of items in flight that each line may have; that of a line among few, until it shows to be quick; and the
    /// one for which the last half of the window is kept. Some of them are always on their way to a commit.
    private static let share = 64
    private static let firstShare = 256
    private static let leastShare = 32

    private struct Line {
        let host: String?
        var items = Queue<PrefetchItem>()
        var ready = Queue<PrefetchWish>()
        /// The items that an open circuit has refused.
        var aside: [PrefetchItem] = []
        var looking = 0
        var inFlight = 0
        var landed = 0
        /// Whether nothing starts, because the circuit of the host is open.
        var isClosed = false
        /// Whether what the circuit refuses has failed, because the run has nothing else to do.
        var isReleased = false
        /// Whether it is in the queues of lines that need look-ups, and of those that may start an item.
        var isHungry = false
        var isStartable = false
        /// The number of its items that count as waiting for a look-up.
        var hungryItems = 0

        var isEmpty: Bool { items.isEmpty && ready.isEmpty && aside.isEmpty && looking == 0 && inFlight == 0 }

        /// The number of items that have been looked up, or likely come out of a look-up.
        func held(_ missing: Int) -> Int { ready.count + looking * missing / 1000 }
    }

    /// The maximum number of items in flight, and the one per host that the caller sets.
    private let window: Int
    private let perHost: Int?
    private var lines: [Line] = []
    private var free: [Int] = []
    private var places: [String?: Int] = [:]
    /// The line of the last item, because neighbours in a list usually share their host.
    private var latest: (host: String?, place: Int)?
    private var hungry = Queue<Int>()
    private var startable = Queue<Int>()
    /// The closed lines, with the times at which their circuits let one request try.
    private var closed: [Int: ContinuousClock.Instant] = [:]
    /// The time at which the first of them opens.
    private(set) var opening: ContinuousClock.Instant?

    private(set) var inFlight = 0
    private(set) var ready = 0
    private var looking = 0
    private var hungryItems = 0
    private var weight = 0
    /// The share of the items that is likely missing, in thousandths: arithmetic of doubles costs each hit too much.
    private var missing = 1000

    init(window: Int, perHost: Int?) { (self.window, self.perHost) = (window, perHost) }

    /// Whether no item waits or flies.
    var isEmpty: Bool { places.isEmpty }

    /// Whether all items are of hosts whose circuits are open.
    var isStuck: Bool { !closed.isEmpty && closed.count == places.count && inFlight == 0 && looking == 0 }

    /// Whether the memory allows no more items.
    var isFull: Bool { weight >= Self.mostWeight }

    /// Whether more items should be read.
    var wantsItems: Bool { hungryItems < Self.mostHungry && !isFull }

    private static func weight(_ item: PrefetchItem) -> Int { itemWeight + item.size }

    private var openLines: Int { max(1, places.count - closed.count) }

    /// The number of looked-up items that a line is filled to.
    private var target: Int { min(max(Self.mostReady / openLines, Self.readyInNeed), Self.mostReady / 2) }

    private var held: Int { ready + looking * missing / 1000 }

    // MARK: Items

    mutating func add(_ items: [PrefetchItem]) {
        var last: Int?
        for index in items.indices {
            var item = items[index]
            let place = place(of: item.host)
            if let last, last != place { list(last) }
            last = place
            item.place = place
            weight += Self.weight(item)
            lines[place].items.append(consume item)
        }
        if let last { list(last) }
    }

    private mutating func place(of host: String?) -> Int {
        if let latest, latest.host == host { return latest.place }
        let place: Int
        if let known = places[host] {
            place = known
        } else {
            place = free.popLast() ?? lines.count
            if place == lines.count { lines.append(Line(host: host)) } else { lines[place] = Line(host: host) }
            places[host] = place
        }
        latest = (host, place)
        return place
    }

    // MARK: Looking up

    /// Removes the items to look up now, of hosts in turn. `missingShare` is the share of them that is likely missing.
    mutating func toLookUp(missingShare: Double) -> [PrefetchItem] {
        missing = Int(clamping: max(0, min(missingShare, 1)) * 1000)
        var items: [PrefetchItem] = []
        var tries = min(hungry.count, Self.block)
        while tries > 0, items.count < Self.block, let place = hungry.first {
            let all = held
            if all >= Self.mostReadyInNeed { break }
            _ = hungry.popFirst()
            tries -= 1
            lines[place].isHungry = false
            let own = lines[place].held(missing)
            var count = 0
            if all < Self.mostReady {
                count = max(Self.readyInNeed, target - own) * 1000 / max(missing, 10)
            } else if own == 0 {
                count = Self.readyInNeed
            }
            count = min(count, Self.block - items.count, lines[place].items.count)
            lines[place].items.move(count, to: &items)
            lines[place].looking += count
            looking += count
            list(place)
        }
        return items
    }

    /// Notes that items have been looked up and have ended, or will not be tried.
    mutating func lookedUp(_ ended: [PrefetchOutcome]) {
        var last: Int?
        // By index: a copy of each outcome would cost as much as all of the rest.
        for index in ended.indices {
            let place = ended[index].item.place
            if let last, last != place { list(last) }
            last = place
            lines[place].looking -= 1
            looking -= 1
            weight -= Self.itemWeight + ended[index].item.size
        }
        if let last { list(last) }
    }

    /// Takes what has been looked up and is missing.
    mutating func lookedUp(_ wishes: [PrefetchWish]) {
        // By index: a copy of each would cost four retains.
        for index in wishes.indices {
            let place = wishes[index].item.place
            lines[place].looking -= 1
            looking -= 1
            lines[place].ready.append(wishes[index])
            ready += 1
            list(place)
        }
    }

    // MARK: Flights

    /// Removes the items to start now, of hosts in turn.
    mutating func toStart() -> [PrefetchWish] {
        var wishes: [PrefetchWish] = []
        while inFlight < window, let place = startable.popFirst() {
            lines[place].isStartable = false
            guard mayStart(place), let wish = lines[place].ready.popFirst() else {
                list(place)
                continue
            }
            ready -= 1
            inFlight += 1
            lines[place].inFlight += 1
            wishes.append(consume wish)
            list(place)
        }
        return wishes
    }

    /// Notes the end of an item in flight. It leaves the lines, unless it is set aside before.
    mutating func landed(_ item: PrefetchItem) {
        inFlight -= 1
        lines[item.place].inFlight -= 1
        lines[item.place].landed += 1
        weight -= Self.weight(item)
        list(item.place)
    }

    /// Whether the line may start one of its items. The last half of the window is for hosts that have few in flight, so that
    /// those which come later find room.
    private func mayStart(_ place: Int) -> Bool {
        guard !lines[place].ready.isEmpty, !lines[place].isClosed else { return false }
        guard lines[place].host != nil else { return true }
        let own = lines[place].inFlight
        let most = max(Self.share, min(window / 2 / openLines, Self.firstShare + lines[place].landed))
        return own < min(most, perHost ?? .max) && (inFlight < window / 2 || own < Self.leastShare)
    }

    /// Puts the line into the queues where it belongs now, and removes an empty one.
    private mutating func list(_ place: Int) {
        let count = lines[place].items.count
        let isHungry = count > 0 && !lines[place].isClosed && needsMore(place)
        if isHungry, !lines[place].isHungry {
            lines[place].isHungry = true
            hungry.append(place)
        }
        let hungryCount = isHungry ? count : 0
        hungryItems += hungryCount - lines[place].hungryItems
        lines[place].hungryItems = hungryCount
        if !lines[place].isStartable, mayStart(place) {
            lines[place].isStartable = true
            startable.append(place)
        }
        if count == 0, lines[place].isEmpty, !lines[place].isHungry, !lines[place].isStartable { remove(place) }
    }

    private func needsMore(_ place: Int) -> Bool {
        let own = lines[place].held(missing)
        return own == 0 || 2 * own < target && held < Self.mostReady
    }

    private mutating func remove(_ place: Int) {
        places[lines[place].host] = nil
        if lines[place].isClosed { closed[place] = nil }
        if latest?.place == place { latest = nil }
        lines[place] = Line(host: nil)
        free.append(place)
    }

    // MARK: Open circuits

    /// Whether an item that the open circuit of its host has refused waits for the circuit: once, and if the run has other
    /// work.
    func setsAside(_ item: PrefetchItem) -> Bool { !item.wasPostponed && !lines[item.place].isReleased }

    /// Sets aside an item in flight, and closes its line until a request may try.
    mutating func setAside(_ item: PrefetchItem, until opening: ContinuousClock.Instant) {
        var item = item
        item.wasPostponed = true
        inFlight -= 1
        lines[item.place].inFlight -= 1
        lines[item.place].aside.append(item)
        lines[item.place].isClosed = true
        closed[item.place] = max(closed[item.place] ?? opening, opening)
        self.opening = min(self.opening ?? opening, opening)
        // What was looked up waits as a light record again.
        let ready = lines[item.place].ready.removeAll()
        self.ready -= ready.count
        lines[item.place].items.prepend(ready.map(\.item))
        list(item.place)
    }

    /// Opens the lines whose time has come.
    mutating func open(now: ContinuousClock.Instant) {
        guard let opening, opening <= now else { return }
        for (place, end) in closed where end <= now { open(place) }
        self.opening = closed.values.min()
    }

    /// Opens all lines, or the one that has been closed for the longest time. What their circuits refuse has failed.
    mutating func release(all: Bool) {
        let first = closed.min { $0.value < $1.value }
        for (place, end) in closed where all || end == first?.value {
            lines[place].isReleased = true
            open(place)
        }
        opening = closed.values.min()
    }

    private mutating func open(_ place: Int) {
        closed[place] = nil
        lines[place].isClosed = false
        lines[place].items.prepend(lines[place].aside)
        lines[place].aside = []
        list(place)
    }

    // MARK: The end

    /// Removes all items that wait, by their position.
    mutating func dropAll() -> [PrefetchItem] {
        var items: [PrefetchItem] = []
        for place in places.values {
            items += lines[place].items.removeAll() + lines[place].ready.removeAll().map(\.item) + lines[place].aside
            lines[place].aside = []
            lines[place].isClosed = false
        }
        weight -= items.reduce(0) { $0 + Self.weight($1) }
        (ready, closed, opening) = (0, [:], nil)
        while let place = hungry.popFirst() { lines[place].isHungry = false }
        while let place = startable.popFirst() { lines[place].isStartable = false }
        for place in Array(places.values) { list(place) }
        return items.sorted { $0.position < $1.position }
    }
}

/// A queue whose elements are released when they leave it. It is of this module, so that all of its uses are specialized:
/// every hit passes through one.
private struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { head == elements.count }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: consuming Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        if isEmpty { return nil }
        let first = elements[head].take()
        drop(1)
        return first
    }

    /// Removes the first elements, and appends them to others.
    mutating func move(_ count: Int, to others: inout [Element]) {
        for index in head..<head + count {
            if let element = elements[index].take() { others.append(element) }
        }
        drop(count)
    }

    /// Puts elements in front of all others.
    mutating func prepend(_ others: [Element]) {
        if others.isEmpty { return }
        elements.replaceSubrange(..<head, with: others.map { $0 })
        head = 0
    }

    mutating func removeAll() -> [Element] {
        defer { (elements, head) = ([], 0) }
        return elements[head...].compactMap { $0 }
    }

    private mutating func drop(_ count: Int) {
        head += count
        if head == elements.count {
            elements.removeAll(keepingCapacity: head <= 1024)
            head = 0
        } else if head >= 1024, 2 * head >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
    }
}
