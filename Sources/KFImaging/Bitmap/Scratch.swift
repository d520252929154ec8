import Glibc

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
