import Glibc

/// Memory for work in progress, whose size foreign numbers decide: it is refused with an error where an array, or
/// Swift's own allocation, would end the process.
enum Scratch {
    /// Uninitialised room for that many elements of a trivial type, to be given back with `free`.
    static func take<Element>(_ type: Element.Type, _ count: Int) throws(ImagingError) -> UnsafeMutablePointer<Element>
    {
        let (length, overflow) = max(count, 1).multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        var pointer: UnsafeMutableRawPointer?
        guard !overflow, posix_memalign(&pointer, 64, length) == 0, let pointer else {
            throw .outOfMemory(bytes: overflow ? Int.max : length)
        }
        return pointer.bindMemory(to: type, capacity: count)
    }

    static func give<Element>(_ pointer: UnsafeMutablePointer<Element>) { free(pointer) }
}
