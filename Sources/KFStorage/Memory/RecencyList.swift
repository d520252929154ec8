/// Values in the order of their last use: a dictionary of nodes in a doubly linked list.
struct RecencyList<Value> {
    typealias Node = RecencyNode

    private var order = RecencyOrder()

    /// The sum of the values' costs.
    var cost: Int { order.cost }

    var count: Int { order.count }

    /// Inserts a value as the most recently used one. The key must not be in the list.
    mutating func insert(_ value: Value, for key: EntryKey, cost: Int, timeToLive: Int64?, expires: Timestamp) {
        order.insert(ValueNode(value, key: key, cost: cost, timeToLive: timeToLive, expires: expires))
    }

    func expiry(of key: EntryKey) -> Timestamp? { order.node(key)?.expires }

    /// Makes the value the most recently used one if `accept` returns true; removes it otherwise.
    mutating func use(_ key: EntryKey, accept: (inout Node) -> Bool) -> Value? {
        guard var node = order.node(key) else { return nil }
        guard accept(&node) else {
            _ = remove(key)
            return nil
        }
        order.renew(node)
        return value(node)
    }

    /// Changes the cost of a value. Returns false if the key has no such value.
    mutating func setCost(_ cost: Int, of key: EntryKey, where isSame: (Value) -> Bool) -> Bool {
        guard let node = order.node(key), isSame(value(node)) else { return false }
        order.setCost(cost, of: node)
        return true
    }

    /// Removes the values of matching keys and returns them.
    mutating func remove(where isMeant: (EntryKey) -> Bool) -> [Value] {
        order.remove { isMeant($0.key) }.map(value)
    }

    mutating func remove(_ key: EntryKey) -> Value? { order.remove(key).map(value) }

    mutating func removeOldest() -> Value? { order.removeOldest().map(value) }

    /// Removes expired values and returns them.
    mutating func sweep(_ now: Timestamp) -> [Value] { order.remove { $0.expires <= now }.map(value) }

    private func value(_ node: RecencyNode) -> Value { unsafeDowncast(node, to: ValueNode<Value>.self).value }
}

/// A node of the list. It is not generic: generic code would run unspecialised in other modules, where a look-up took
/// five times as long.
///
/// Unchecked, because a node belongs to its list, which only one thread at a time uses.
class RecencyNode: @unchecked Sendable {
    let key: EntryKey
    fileprivate(set) var cost: Int
    let timeToLive: Int64?
    var expires: Timestamp
    // Not reference-counted, because the dictionary retains the nodes; a node is unlinked before it is released.
    fileprivate unowned(unsafe) var newer: RecencyNode?
    fileprivate unowned(unsafe) var older: RecencyNode?

    init(key: EntryKey, cost: Int, timeToLive: Int64?, expires: Timestamp) {
        self.key = key
        self.cost = cost
        self.timeToLive = timeToLive
        self.expires = expires
    }
}

private final class ValueNode<Value>: RecencyNode, @unchecked Sendable {
    let value: Value

    init(_ value: Value, key: EntryKey, cost: Int, timeToLive: Int64?, expires: Timestamp) {
        self.value = value
        super.init(key: key, cost: cost, timeToLive: timeToLive, expires: expires)
    }
}

/// The nodes, the newest and the oldest of them, and the sum of their costs.
private struct RecencyOrder {
    private var nodes: [EntryKey: RecencyNode] = [:]
    private unowned(unsafe) var newest: RecencyNode?
    private unowned(unsafe) var oldest: RecencyNode?
    private(set) var cost = 0

    var count: Int { nodes.count }

    func node(_ key: EntryKey) -> RecencyNode? { nodes[key] }

    mutating func insert(_ node: RecencyNode) {
        nodes[node.key] = node
        cost += node.cost
        link(node)
    }

    mutating func renew(_ node: RecencyNode) {
        guard newest !== node else { return }
        unlink(node)
        link(node)
    }

    mutating func setCost(_ cost: Int, of node: RecencyNode) {
        self.cost += cost - node.cost
        node.cost = cost
    }

    mutating func remove(_ key: EntryKey) -> RecencyNode? {
        guard let node = nodes.removeValue(forKey: key) else { return nil }
        unlink(node)
        cost -= node.cost
        return node
    }

    mutating func removeOldest() -> RecencyNode? { oldest.flatMap { remove($0.key) } }

    mutating func remove(where isMeant: (RecencyNode) -> Bool) -> [RecencyNode] {
        nodes.values.filter(isMeant).compactMap { remove($0.key) }
    }

    private mutating func link(_ node: RecencyNode) {
        node.newer = nil
        node.older = newest
        newest?.newer = node
        newest = node
        if oldest == nil { oldest = node }
    }

    private mutating func unlink(_ node: RecencyNode) {
        if let newer = node.newer { newer.older = node.older } else { newest = node.older }
        if let older = node.older { older.newer = node.newer } else { oldest = node.newer }
    }
}
