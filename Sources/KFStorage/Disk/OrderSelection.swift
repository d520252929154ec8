/// Some of many orders, and where their outcomes belong.
struct OrderSelection: Sendable {
    private(set) var orders: [[IndexOrder]] = []
    private var places: [(group: Int, orders: [Int])] = []

    var isEmpty: Bool { orders.isEmpty }

    init(_ groups: [[IndexOrder]], where isChosen: (_ group: Int, _ order: Int) -> Bool) {
        for (number, group) in groups.enumerated() {
            let chosen = group.indices.filter { isChosen(number, $0) }
            if chosen.isEmpty { continue }
            orders.append(chosen.map { group[$0] })
            places.append((number, chosen))
        }
    }

    /// Puts the outcomes of the chosen ones among those of all.
    func put(_ done: [[IndexOrder.Outcome]], into all: inout [[IndexOrder.Outcome]]) {
        for (place, outcomes) in zip(places, done) {
            for (order, outcome) in zip(place.orders, outcomes) { all[place.group][order] = outcome }
        }
    }
}
