/// Values in the order of their last use: a dictionary into a doubly linked list whose links are places in an array.
struct RecencyList<Value> {
    struct Node {
        let key: EntryKey
        let value: Value
        let cost: Int
        let timeToLive: Int64?
        var expires: Timestamp
        fileprivate var newer: Int?
        fileprivate var older: Int?
    }

    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var places: [EntryKey: Int] = [:]
    private var newest: Int?
    private var oldest: Int?
    /// The sum of the values' costs.
    private(set) var cost = 0

    var count: Int { places.count }

    /// The key must not be in the list.
    mutating func insert(_ value: Value, for key: EntryKey, cost: Int, timeToLive: Int64?, expires: Timestamp) {
        let place = free.popLast() ?? nodes.count
        if place == nodes.count { nodes.append(nil) }
        nodes[place] = Node(key: key, value: value, cost: cost, timeToLive: timeToLive, expires: expires)
        places[key] = place
        self.cost += cost
        link(place)
    }

    func expiry(of key: EntryKey) -> Timestamp? { places[key].flatMap { nodes[$0]?.expires } }

    /// Makes the value the newest if `accept` says yes, removes it if not.
    mutating func use(_ key: EntryKey, accept: (inout Node) -> Bool) -> Value? {
        guard let place = places[key], var node = nodes[place] else { return nil }
        guard accept(&node) else {
            _ = remove(key)
            return nil
        }
        nodes[place]?.expires = node.expires
        unlink(place)
        link(place)
        return node.value
    }

    mutating func remove(_ key: EntryKey) -> Value? {
        guard let place = places.removeValue(forKey: key), let node = nodes[place] else { return nil }
        unlink(place)
        nodes[place] = nil
        free.append(place)
        cost -= node.cost
        return node.value
    }

    /// Removes what is meant and gives it back.
    mutating func remove(where isMeant: (EntryKey) -> Bool) -> [Value] {
        places.keys.filter(isMeant).compactMap { remove($0) }
    }

    mutating func removeOldest() -> Value? {
        oldest.flatMap { nodes[$0] }.flatMap { remove($0.key) }
    }

    /// Removes what has expired and gives it back.
    mutating func sweep(_ now: Timestamp) -> [Value] {
        let expired = nodes.compactMap { node in node.flatMap { $0.expires <= now ? $0.key : nil } }
        return expired.compactMap { remove($0) }
    }

    private mutating func link(_ place: Int) {
        nodes[place]?.newer = nil
        nodes[place]?.older = newest
        if let newest { nodes[newest]?.newer = place }
        newest = place
        if oldest == nil { oldest = place }
    }

    private mutating func unlink(_ place: Int) {
        guard let node = nodes[place] else { return }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
    }
}
