import CSystem

/// How much may be under way at once without running out of descriptors.
package enum DescriptorLimit {
    /// What the process has open whatever it does: the index, its log, locks, the network's own.
    private static let standing = 28
    /// An image on its way has a connection, its file, and at times that of its facts or one in the cache.
    private static let perItem = 4

    /// `wanted`, or as many as there can be. The process's soft limit is raised where that is needed and allowed.
    package static func bound(_ wanted: Int) -> Int {
        let (need, overflow) = wanted.multipliedReportingOverflow(by: perItem)
        let limit = kf_descriptor_limit(overflow ? .max : need + standing)
        return max(1, min(wanted, (limit - standing) / perItem))
    }
}
