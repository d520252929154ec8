/// The values that were added or asked for last, of which there is a bounded number.
struct RecentValues<Value: Hashable & Sendable>: Sendable {
    private let most = 32_768
    private var young: Set<Value> = []
    private var old: Set<Value> = []

    mutating func contains(_ value: Value) -> Bool {
        if young.contains(value) { return true }
        guard old.contains(value) else { return false }
        insert(value)
        return true
    }

    mutating func insert(_ value: Value) {
        if young.count >= most { (old, young) = (young, []) }
        young.insert(value)
    }
}
