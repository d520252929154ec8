import CSystem

/// Facts and settings of the whole process.
package enum ProcessState {
    package static var isMainThread: Bool { kf_is_main_thread() != 0 }

    /// Configures malloc to keep freed memory for reuse and to grow the heap in larger steps. This halves the page
    /// faults of a prefetch. A library must not call it, because the setting applies to the whole process.
    package static func keepFreedMemory() { kf_keep_freed_memory() }
}
