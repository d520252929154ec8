import CAllocations

/// The cost of one call.
struct Cost {
    /// The median over the batches and the minimum, which is more reliable on a busy machine.
    var nanoseconds: Double
    var best: Double
    /// The number of allocations in the batch with the fewest.
    var allocations: Double
}

/// Measures a call in batches and returns the cost of one. The first batch is discarded.
func measure(_ count: Int, batches: Int, _ call: (Int) async throws -> Void) async throws -> Cost {
    var times: [Double] = []
    var fewest = Double.infinity
    for batch in 0...batches {
        let before = allocations()
        let start = ContinuousClock.now
        for index in 0..<count { try await call(index) }
        let span = start.duration(to: .now).components
        let made = allocations() - before
        if batch == 0 { continue }
        times.append((Double(span.seconds) * 1e9 + Double(span.attoseconds) / 1e9) / Double(count))
        fewest = min(fewest, Double(made) / Double(count))
    }
    let sorted = times.sorted()
    return Cost(nanoseconds: sorted[sorted.count / 2], best: sorted[0], allocations: fewest)
}

/// A table with a line for each call, and its ratio to a floor.
struct Table {
    private var floor: Double?

    init() {
        print(Self.line("call", "median µs", "best µs", "allocations", "× floor"))
    }

    /// Adds a floor, which the following calls are compared with.
    mutating func addFloor(_ name: String, _ cost: Cost) {
        floor = cost.best
        print()
        add(name, cost)
    }

    func add(_ name: String, _ cost: Cost) {
        let times = floor.map { Self.rounded(cost.best / $0, 1) } ?? ""
        print(
            Self.line(
                name, Self.rounded(cost.nanoseconds / 1000, 2), Self.rounded(cost.best / 1000, 2),
                Self.rounded(cost.allocations, 1), times))
    }

    private static func line(_ name: String, _ columns: String...) -> String {
        let padded = columns.map { String(repeating: " ", count: max(0, 12 - $0.count)) + $0 }
        return name + String(repeating: " ", count: max(1, 44 - name.count)) + padded.joined()
    }

    private static func rounded(_ value: Double, _ digits: Int) -> String {
        var factor = 1.0
        for _ in 0..<digits { factor *= 10 }
        return "\((value * factor).rounded() / factor)"
    }
}
