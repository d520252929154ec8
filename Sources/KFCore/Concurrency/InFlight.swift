import Glibc
import KFStorage
import KFSystem

/// How many sources may be under way at once.
package enum InFlight {
    /// `wanted`, or fewer where the process may not have enough descriptors for them.
    package static func bound(_ wanted: Int) -> Int { DescriptorLimit.bound(wanted) }
}

extension WorkerPool {
    /// For work that computes: one thread a processor, whoever asks, because the processors are the machine's.
    static let processing = WorkerPool(label: "kf.processing", width: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
}
