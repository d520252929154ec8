/// Looks at the clock once for each 256 Ki samples of work.
struct Pace {
    private let deadline: Deadline?
    private var left = Deadline.samplesPerLook

    /// Goes by the deadline of the current allowance, where there is one.
    init() { deadline = Allowance.current?.deadline }

    /// Counts work that has been done, or is about to be.
    ///
    /// - Throws: `timeLimit` when the deadline has passed.
    mutating func advance(_ samples: Int) throws(ImagingError) {
        left -= samples
        guard left <= 0 else { return }
        left = Deadline.samplesPerLook
        try deadline?.check()
    }
}
