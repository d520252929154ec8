import CImageCodecs
import Synchronization

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

/// Counts the bytes that the work on one image holds, over all its stages and threads, and refuses what is too much.
final class MemoryBudget: Sendable {
    let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Counts memory that is about to be taken.
    ///
    /// - Throws: `memoryLimit`.
    func take(_ bytes: Int) throws(ImagingError) {
        // More than this is nowhere, and cannot make the sum overflow.
        guard bytes < 1 << 60 else { throw .memoryLimit(bytes: .max, limit: limit) }
        let now = used.wrappingAdd(bytes, ordering: .relaxed).newValue
        guard now > limit else { return }
        used.wrappingSubtract(bytes, ordering: .relaxed)
        throw .memoryLimit(bytes: now, limit: limit)
    }

    /// Counts memory as given back.
    func give(_ bytes: Int) {
        used.wrappingSubtract(bytes, ordering: .relaxed)
    }

    /// What could still be taken.
    var left: Int { max(0, limit - used.load(ordering: .relaxed)) }
}

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
