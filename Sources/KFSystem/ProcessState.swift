import CSystem

/// Facts and settings of the whole process.
package enum ProcessState {
    /// Whether the calling thread is the one that the process started with.
    package static var isMainThread: Bool { kf_is_main_thread() != 0 }

    /// Keeps freed memory for the next body or bitmap, and grows the heap in larger steps. Halves the page faults of a
    /// prefetch. A library must not call it: the setting applies to the whole process.
    package static func keepFreedMemory() { kf_keep_freed_memory() }
}
