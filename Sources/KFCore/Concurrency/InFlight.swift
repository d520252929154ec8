import Glibc
import KFStorage
import KFSystem

/// The limit of sources in flight.
package enum InFlight {
    /// Returns `wanted`, or less if the process has too few descriptors.
    package static func bound(_ wanted: Int) -> Int { DescriptorLimit.bound(wanted) }
}

extension WorkerPool {
    /// The threads for computation: one per processor for all callers, because they share the machine.
    static let processing = WorkerPool(label: "kf.processing", width: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
}
