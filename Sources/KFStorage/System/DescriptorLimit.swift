import CSystem
import Glibc

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

    /// The fewest descriptors that one image at a time needs, beside those that are open at the start.
    package static let fewest = 21
    /// With a higher limit the free ones are not counted.
    private static let plenty = 256

    /// Nil when enough descriptors can be opened, else how many can.
    package static func shortage() -> Int? {
        let limit = kf_descriptor_limit(plenty)
        guard limit < plenty else { return nil }
        var slots = (0..<Int32(limit)).map { pollfd(fd: $0, events: 0, revents: 0) }
        guard poll(&slots, nfds_t(slots.count), 0) >= 0 else { return limit < fewest ? limit : nil }
        let free = slots.count { $0.revents & Int16(POLLNVAL) != 0 }
        return free < fewest ? free : nil
    }
}
