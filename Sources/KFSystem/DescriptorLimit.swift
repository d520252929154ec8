import CSystem
import Glibc

/// The limit that the process's file descriptors set to the number of concurrent operations.
package enum DescriptorLimit {
    /// Descriptors that stay open for the whole run: the index, its log, the lock files and the network engine's.
    private static let standing = 28
    /// Descriptors of one download: a connection, its file, and at times its partial record or a cached file.
    private static let perItem = 4
    /// The descriptors of what `beside` bounds, if it is not bounded.
    private static let mostBeside = 128

    /// Returns `wanted` items, or fewer if the descriptor limit allows only fewer. Raises the soft limit first when needed.
    package static func bound(_ wanted: Int) -> Int {
        let (need, overflow) = wanted.multipliedReportingOverflow(by: perItem)
        let limit = kf_descriptor_limit(overflow ? .max : need + standing + mostBeside)
        return max(1, min(wanted, (limit - standing - reserve(limit)) / perItem))
    }

    /// Returns `wanted`, or proportionally fewer, of what opens files and connections beside the items: requests to
    /// remotes, and copies.
    package static func beside(_ wanted: Int) -> Int {
        max(1, wanted * reserve(kf_descriptor_limit(standing + 3 * mostBeside)) / mostBeside)
    }

    /// The descriptors that the items leave: a third of those that do not stay open, and no more than are of use.
    private static func reserve(_ limit: Int) -> Int { max(0, min(mostBeside, (limit - standing) / 3)) }

    /// The number of free descriptors that a run with one image at a time needs, with a remote or shards.
    package static let fewest = 32
    /// The descriptor limit at and above which `shortage` does not count free descriptors.
    private static let plenty = 256

    /// Returns the number of free descriptors if it is below `fewest`, else nil.
    package static func shortage() -> Int? {
        let limit = kf_descriptor_limit(plenty)
        guard limit < plenty else { return nil }
        var slots = (0..<Int32(clamping: limit)).map { pollfd(fd: $0, events: 0, revents: 0) }
        guard poll(&slots, nfds_t(slots.count), 0) >= 0 else { return limit < fewest ? limit : nil }
        let free = slots.count { $0.revents & Int16(POLLNVAL) != 0 }
        return free < fewest ? free : nil
    }
}
