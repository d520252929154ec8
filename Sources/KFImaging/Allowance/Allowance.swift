import CImageCodecs

/// What the work on one image may take: memory over all its stages together, and time.
///
/// The allowance in force is a task-local value, because it has to reach code that has no parameter for it: processors
/// and serializers of a program's own, and the bitmaps that they make. Bitmaps and scratch memory are counted on the
/// allowance that is in force when they are allocated, and given back to the same one. Without an allowance nothing
/// is limited.
package struct Allowance: Sendable {
    @TaskLocal private static var inForce: Allowance?

    static var current: Allowance? { inForce }

    let memory: MemoryBudget
    let deadline: Deadline
    private let timeLimit: Duration

    /// For an image whose file has so many bytes; nil for one that is decoded already. The time begins to run.
    package init(_ limits: DecodeLimits, fileBytes: Int?) {
        self.init(
            MemoryBudget(limit: limits.memory(fileBytes: fileBytes)), limits.time(fileBytes: fileBytes), spent: .zero)
    }

    private init(_ memory: MemoryBudget, _ timeLimit: Duration, spent: Duration) {
        self.memory = memory
        self.timeLimit = timeLimit
        deadline = Deadline(timeLimit, spent: spent)
    }

    /// The same memory, and the time that is left when so much of it was spent: for one of several pieces of work on an
    /// image, which may have waited for its turn.
    package func after(_ spent: Duration) -> Allowance { Allowance(memory, timeLimit, spent: spent) }

    /// Runs work under this allowance, on the calling thread.
    package func run<Result>(_ work: () throws(ImagingError) -> Result) throws(ImagingError) -> Result {
        try Allowance.$inForce.withValue(self) {
            Swift.Result { () throws(ImagingError) in try work() }
        }.get()
    }

    /// Runs work under the allowance in force, or under one by the limits where there is none.
    package static func within<Result>(
        _ limits: DecodeLimits, fileBytes: Int?, _ work: () throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        guard inForce == nil else { return try work() }
        return try Allowance(limits, fileBytes: fileBytes).run(work)
    }

    /// The deadline in force, or one by the limits where there is none.
    static func deadline(_ limits: DecodeLimits) -> Deadline {
        inForce?.deadline ?? Deadline(limits.time(fileBytes: nil))
    }

    /// What is left of the current allowance for a writer of the C shim. The file it writes is copied once.
    static var bounds: kf_bounds {
        guard let current else { return kf_bounds(bytes: .max, nanoseconds: .max) }
        return kf_bounds(bytes: current.memory.left / 2, nanoseconds: current.deadline.timeLeft)
    }
}
