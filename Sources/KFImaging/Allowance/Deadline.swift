/// The moment at which the work on an image gives up. Every loop over pixels looks at it, most by way of a ``Pace``.
struct Deadline {
    private let end: ContinuousClock.Instant
    private let limit: Duration

    /// `spent` is what earlier work has used of the limit.
    init(_ limit: Duration, spent: Duration = .zero) {
        self.limit = limit
        end = .now + (limit - spent)
    }

    /// - Throws: `timeLimit` when the moment has passed.
    func check() throws(ImagingError) {
        if ContinuousClock.now > end { throw error }
    }

    var error: ImagingError { .timeLimit(limit) }

    /// In nanoseconds; nothing when the moment has passed.
    var timeLeft: Int64 {
        let (seconds, attoseconds) = max(.zero, ContinuousClock.now.duration(to: end)).components
        return min(seconds, 1 << 32) * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// So many samples may be worked on between two looks at the clock; in most loops that takes less than a millisecond.
    static let samplesPerLook = 262_144

    /// How many rows that comes to.
    static func rowsPerLook(width: Int) -> Int {
        max(1, samplesPerLook / max(width, 1))
    }
}
