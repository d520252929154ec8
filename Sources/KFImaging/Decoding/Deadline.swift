/// The moment at which a decode gives up. Decoders look at it between rows.
struct Deadline {
    private let end: ContinuousClock.Instant
    private let limit: Duration

    init(_ limit: Duration) {
        self.limit = limit
        end = .now + limit
    }

    func check() throws(ImagingError) {
        if ContinuousClock.now > end { throw .timeLimit(limit) }
    }

    /// How many rows may be read between two looks at the clock: about 256 Ki samples' worth.
    static func rowsPerLook(width: Int) -> Int {
        max(1, 262_144 / max(width, 1))
    }
}
