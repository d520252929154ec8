import CSystem

package enum HeapMemory {
    /// Freed memory is kept for the next body or bitmap, and the heap grows in larger steps. It halves the page faults of
    /// a prefetch. Not for a library: the setting is the whole process's.
    package static func keepFreed() { kf_keep_freed_memory() }
}
