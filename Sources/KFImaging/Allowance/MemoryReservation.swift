/// Memory that a codec library, or an array, takes by itself: counted for as long as this lives.
final class MemoryReservation {
    private let budget: MemoryBudget?
    private let bytes: Int

    /// - Throws: `memoryLimit` when the current allowance has not so much left.
    init(_ bytes: Int) throws(ImagingError) {
        // First, because an object whose every property is set is torn down by a throw, and would give back.
        let budget = Allowance.current?.memory
        try budget?.take(bytes)
        self.budget = budget
        self.bytes = bytes
    }

    deinit {
        budget?.give(bytes)
    }
}
