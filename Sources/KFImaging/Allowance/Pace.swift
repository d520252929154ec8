/// Looks at the clock once for each 256 Ki samples of work, which is less than a millisecond's in most loops.
struct Pace {
    static let step = 262_144

    private let deadline: Deadline?
    private var left = Pace.step

    /// Goes by the deadline of the current allowance, where there is one.
    init() { deadline = Allowance.current?.deadline }

    /// Counts work that has been done, or is about to be.
    ///
    /// - Throws: `timeLimit` when the deadline has passed.
    mutating func advance(_ samples: Int) throws(ImagingError) {
        left -= samples
        guard left <= 0 else { return }
        left = Pace.step
        try deadline?.check()
    }
}
