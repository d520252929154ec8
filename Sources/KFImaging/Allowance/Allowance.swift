import CImageCodecs
import Synchronization

/// The memory and the time that the work on one image may take, over all its stages.
///
/// The current allowance is a task-local value, because it must reach code without a parameter for it: a program's own
/// processors and serializers, and the bitmaps that they make. Bitmaps and scratch memory count against the allowance
/// that is current when they are allocated, and return their bytes to the same one. Without an allowance there is no
/// limit.
package struct Allowance: Sendable {
    @TaskLocal private static var inForce: Allowance?

    static var current: Allowance? { inForce }

    let memory: MemoryBudget
    let deadline: Deadline
}

extension Allowance {
    /// `fileBytes` is the size of the image's file; nil for an image that is decoded already.
    package init(_ limits: DecodeLimits, fileBytes: Int?) {
        self.init(
            memory: MemoryBudget(limit: limits.memory(fileBytes: fileBytes)),
            deadline: Deadline(limits.time(fileBytes: fileBytes)))
    }

    /// An allowance that shares this one's memory, with the time limit less `spent`.
    ///
    /// It serves one of several jobs on an image, each of which goes on from what the jobs before it have spent.
    package func after(_ spent: Duration) -> Allowance {
        Allowance(memory: memory, deadline: Deadline(deadline.limit, spent: spent))
    }

    /// The processor time that work under this allowance has taken.
    package var spent: Duration { deadline.spent }

    /// Runs work under this allowance on the calling thread, and counts the thread's processor time.
    package func run<Result>(_ work: () throws(ImagingError) -> Result) throws(ImagingError) -> Result {
        let outer = Allowance.inForce?.deadline
        outer?.count()
        deadline.begin()
        defer {
            deadline.count()
            if let outer { outer.begin() } else { kf_meter_begin(nil) }
        }
        return try Allowance.$inForce.withValue(self) {
            Swift.Result { () throws(ImagingError) in try work() }
        }.get()
    }

    /// Runs work under the current allowance, or under a new one made of `limits`.
    package static func within<Result>(
        _ limits: DecodeLimits, fileBytes: Int?, _ work: () throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        guard inForce == nil else { return try work() }
        return try Allowance(limits, fileBytes: fileBytes).run(work)
    }

    /// The remainder of the current allowance, for an encoder in C that works while the allowance is in force. Half of
    /// the memory is kept for the copy of its output.
    static var bounds: kf_bounds {
        guard let current else { return kf_bounds(bytes: .max, meter: nil) }
        return kf_bounds(bytes: current.memory.left / 2, meter: current.deadline.meter)
    }
}

/// Counts the bytes that the work on one image holds, over all its stages and threads, and enforces their limit.
final class MemoryBudget: Sendable {
    let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Counts memory that is about to be allocated.
    ///
    /// - Throws: `memoryLimit`.
    func take(_ bytes: Int) throws(ImagingError) {
        // No machine has this much memory, and smaller sizes cannot make the sum overflow.
        guard bytes < 1 << 60 else { throw .memoryLimit(bytes: .max, limit: limit) }
        let now = used.wrappingAdd(bytes, ordering: .relaxed).newValue
        guard now > limit else { return }
        used.wrappingSubtract(bytes, ordering: .relaxed)
        throw .memoryLimit(bytes: now, limit: limit)
    }

    /// Counts memory as released.
    func give(_ bytes: Int) {
        used.wrappingSubtract(bytes, ordering: .relaxed)
    }

    /// The number of bytes that can still be taken.
    var left: Int { max(0, limit - used.load(ordering: .relaxed)) }
}

/// Memory that a codec library or an array allocates by itself, counted for the lifetime of this object.
final class MemoryReservation {
    private let budget: MemoryBudget?
    private let bytes: Int

    /// - Throws: `memoryLimit` when the current allowance has fewer bytes left.
    init(_ bytes: Int) throws(ImagingError) {
        // Before the properties are set: a throw after that runs deinit, which would return bytes that were never
        // taken.
        let budget = Allowance.current?.memory
        try budget?.take(bytes)
        self.budget = budget
        self.bytes = bytes
    }

    deinit {
        budget?.give(bytes)
    }
}

/// Checks the deadline once for each 256 Ki samples of work.
struct Pace {
    private let deadline: Deadline?
    private var left = Deadline.samplesPerLook

    /// Takes the deadline of the current allowance.
    init() { deadline = Allowance.current?.deadline }

    /// Counts samples that have been worked on, or are about to be.
    ///
    /// - Throws: `timeLimit` when the deadline has passed.
    mutating func advance(_ samples: Int) throws(ImagingError) {
        left -= samples
        guard left <= 0 else { return }
        left = Deadline.samplesPerLook
        try deadline?.check()
    }
}
