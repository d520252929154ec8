import Glibc

/// The memory of a bitmap, aligned to 64 bytes and counted against the current allowance.
///
/// Unchecked, and sound: the pointers and the length never change, and the bytes are written only through
/// `Bitmap.withUnsafeMutableRows`, which first makes sure that it holds the only reference.
final class PixelMemory: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let length: Int
    private let start: UnsafeMutableRawPointer
    private let budget: MemoryBudget?

    /// - Throws: `memoryLimit`, `outOfMemory`.
    init(length: Int, zeroed: Bool) throws(ImagingError) {
        let budget = Allowance.current?.memory
        try budget?.take(length)
        // Zeros from calloc cost nothing until they are touched, but are aligned to 16 bytes only.
        guard length < Int.max - 64, let start = zeroed ? calloc(1, length + 64) : malloc(length + 64) else {
            budget?.give(length)
            throw .outOfMemory(bytes: length)
        }
        self.start = start
        base = UnsafeMutableRawPointer(bitPattern: (UInt(bitPattern: start) + 63) & ~63) ?? start
        self.length = length
        self.budget = budget
    }

    deinit {
        free(start)
        budget?.give(length)
    }
}

/// Temporary memory whose size depends on untrusted numbers. It counts against the current allowance.
///
/// A failed allocation throws an error; an array, or Swift's own allocation, would end the process.
enum Scratch {
    /// Precedes the memory and holds what its release needs.
    private struct Header {
        var length: Int
        var budget: Unmanaged<MemoryBudget>?
    }

    /// The distance from the start of the allocation to the memory, which is aligned to 64 bytes.
    private static let front = 64

    /// Allocates uninitialised memory for elements of a trivial type; the caller releases it with `give`.
    static func take<Element>(_ type: Element.Type, _ count: Int) throws(ImagingError) -> UnsafeMutablePointer<Element>
    {
        let (size, overflow) = max(count, 1).multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        let (length, tooLong) = size.addingReportingOverflow(front)
        if overflow || tooLong { throw .outOfMemory(bytes: Int.max) }
        let budget = Allowance.current?.memory
        try budget?.take(length)
        var pointer: UnsafeMutableRawPointer?
        guard posix_memalign(&pointer, 64, length) == 0, let pointer else {
            budget?.give(length)
            throw .outOfMemory(bytes: length)
        }
        pointer.storeBytes(of: Header(length: length, budget: budget.map { .passRetained($0) }), as: Header.self)
        return (pointer + front).bindMemory(to: type, capacity: count)
    }

    /// Releases memory that `take` allocated.
    static func give<Element>(_ pointer: UnsafeMutablePointer<Element>) {
        let start = UnsafeMutableRawPointer(pointer) - front
        let header = start.load(as: Header.self)
        free(start)
        guard let budget = header.budget else { return }
        budget.takeUnretainedValue().give(header.length)
        budget.release()
    }
}
