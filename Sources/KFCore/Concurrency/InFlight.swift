import KFStorage
import KFSystem

/// How many sources may be under way at once.
package enum InFlight {
    /// `wanted`, or fewer where the process may not have enough descriptors for them.
    package static func bound(_ wanted: Int) -> Int { DescriptorLimit.bound(wanted) }
}
