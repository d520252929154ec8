import CSystem
import Glibc

/// The number of operations that may run at once without running out of file descriptors.
package enum DescriptorLimit {
    /// The descriptors that the process always has open: the index, its log, locks, and those of the network engine.
    private static let standing = 28
    /// The descriptors of one download: a connection, its file, and at times its partial record or a cached file.
    private static let perItem = 4

    /// Returns `wanted`, or the number that the limit allows. Raises the process's soft limit where that is needed and
    /// allowed.
    package static func bound(_ wanted: Int) -> Int {
        let (need, overflow) = wanted.multipliedReportingOverflow(by: perItem)
        let limit = kf_descriptor_limit(overflow ? .max : need + standing)
        return max(1, min(wanted, (limit - standing) / perItem))
    }

    /// The free descriptors that a run with one image at a time needs.
    package static let fewest = 21
    /// The limit from which free descriptors are not counted.
    private static let plenty = 256

    /// Returns nil when enough descriptors are free, otherwise their number.
    package static func shortage() -> Int? {
        let limit = kf_descriptor_limit(plenty)
        guard limit < plenty else { return nil }
        var slots = (0..<Int32(limit)).map { pollfd(fd: $0, events: 0, revents: 0) }
        guard poll(&slots, nfds_t(slots.count), 0) >= 0 else { return limit < fewest ? limit : nil }
        let free = slots.count { $0.revents & Int16(POLLNVAL) != 0 }
        return free < fewest ? free : nil
    }
}
