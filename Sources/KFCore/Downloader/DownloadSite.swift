import KFNetwork
import Synchronization

/// A transfer that its last waiter may have given up before it started.
protocol Abandonable: AnyObject {
    var isAbandoned: Bool { get }
}

/// The transport, the circuit breakers and the back-pressure that all downloads of a downloader share.
final class DownloadSite: Sendable {
    let transport: any Transport
    let circuits: HostCircuits
    let backlog = Backlog()

    init(_ transport: any Transport, _ circuits: HostCircuits) {
        self.transport = transport
        self.circuits = circuits
    }

    /// Starts transfers.
    func start(_ starts: [TransferStart]) {
        if starts.isEmpty { return }
        transport.start(starts)
        // A cancellation before the start found nothing to cancel.
        for start in starts where (start.token as? any Abandonable)?.isAbandoned == true { transport.cancel(start.id) }
    }

    /// A body of so many bytes has been stored, or is not wanted any more.
    func letGo(_ bytes: Int64) { backlog.change(bytes: -bytes, count: -1, transport) }
}

/// Bodies that have come and are not stored yet. When they are many, nothing new is started until most of them are:
/// where processing or storing takes longer than the network, memory is bounded by this, and what a kill costs.
final class Backlog: Sendable {
    private static let mostBytes: Int64 = 16 << 20
    private static let most = 512

    private struct State {
        var bytes: Int64 = 0
        var count = 0
        var isHeld = false
    }

    private let state = Mutex(State())

    /// The transport is told under the lock, so that its last word is the right one.
    func change(bytes: Int64, count: Int, _ transport: any Transport) {
        state.withLock { state in
            state.bytes += bytes
            state.count += count
            let share = state.isHeld ? 2 : 1
            let isHeld = state.count > Self.most / share || state.bytes > Self.mostBytes / Int64(share)
            guard isHeld != state.isHeld else { return }
            state.isHeld = isHeld
            transport.hold(isHeld)
        }
    }
}
