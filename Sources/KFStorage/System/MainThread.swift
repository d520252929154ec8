import CSystem

package enum MainThread {
    /// Whether the calling thread is the one that the process began with.
    package static var isCurrent: Bool { kf_is_main_thread() != 0 }
}
