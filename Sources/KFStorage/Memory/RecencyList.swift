/// Values in the order of their last use: a dictionary of nodes in a doubly linked list.
///
/// It is not generic: generic code would run unspecialised in other modules, where a look-up took five times as long.
struct RecencyList {
    private var nodes: [EntryKey: RecencyNode] = [:]
    private unowned(unsafe) var newest: RecencyNode?
    private unowned(unsafe) var oldest: RecencyNode?
    /// The sum of the values' costs.
    private(set) var cost = 0

    var count: Int { nodes.count }

    subscript(key: EntryKey) -> RecencyNode? { nodes[key] }

    /// Inserts a value as the most recently used one. The key must not be in the list.
    mutating func insert(_ node: RecencyNode) {
        nodes[node.key] = node
        cost += node.cost
        link(node)
    }

    /// Makes a value of the list the most recently used one.
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

    /// Removes the matching values and returns them.
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

/// A node of the list.
///
/// Unchecked, because a node belongs to its list, which only one thread at a time uses. What was removed is only
/// released.
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
