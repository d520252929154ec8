import Glibc

/// The memory behind a bitmap, on a 64-byte boundary, counted on the allowance in force.
///
/// Unchecked, and sound: the pointers and the length never change, and the bytes are written only through
/// `Bitmap.withUnsafeMutableRows`, which first makes sure that it holds the one reference.
final class PixelMemory: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let length: Int
    private let start: UnsafeMutableRawPointer
    private let budget: MemoryBudget?

    /// - Throws: `memoryLimit`, `outOfMemory`.
    init(length: Int, zeroed: Bool) throws(ImagingError) {
        let budget = Allowance.current?.memory
        try budget?.take(length)
        // Zeros from calloc cost nothing until they are touched, but come on a 16-byte boundary.
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

/// Memory for work in progress, whose size foreign numbers decide: it is counted on the allowance in force, and
/// refused with an error where an array, or Swift's own allocation, would end the process.
enum Scratch {
    /// Stands before the memory, with what has to be known when it is given back.
    private struct Header {
        var length: Int
        var budget: Unmanaged<MemoryBudget>?
    }

    /// In front of the memory, which begins on a 64-byte boundary.
    private static let front = 64

    /// Uninitialised room for that many elements of a trivial type, to be given back with `give`.
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

    static func give<Element>(_ pointer: UnsafeMutablePointer<Element>) {
        let start = UnsafeMutableRawPointer(pointer) - front
        let header = start.load(as: Header.self)
        free(start)
        guard let budget = header.budget else { return }
        budget.takeUnretainedValue().give(header.length)
        budget.release()
    }
}
