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

/// What moves the bytes: the transfer engine, or what a test puts in its place.
protocol Transport: Sendable {
    /// Queues transfers; each ends through its receiver, once.
    func start(_ transfers: [TransferStart])
    func cancel(_ id: UInt64)
    func prioritize(_ id: UInt64, _ priority: Float)
    /// While it is held nothing new starts.
    func hold(_ isHeld: Bool)
    /// Starts nothing more to the host for that long.
    func pause(host: String, for duration: Duration)
    func drain()
    func shutdown()
}

extension TransferEngine: Transport {}

/// Leaves hosts alone that only fail: after so many failures in a row nothing is asked of a host for a while, and then
/// one request decides how it goes on.
final class HostCircuits: Sendable {
    struct Terms: Sendable {
        /// Failures in a row that open a circuit; 0 leaves it closed for ever.
        var failures = 0
        var span = Duration.seconds(60)
    }

    private struct Circuit {
        var failures = 0
        var opened: ContinuousClock.Instant?
        var isTrying = false
    }

    private let terms: Terms
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let circuits = Mutex<[String: Circuit]>([:])

    init(terms: Terms, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.terms = terms
        self.clock = clock
    }

    /// Nil when the host may be asked, else how long it is left alone yet.
    func wait(for host: String) -> Duration? {
        circuits.withLock { circuits in
            guard let circuit = circuits[host], let opened = circuit.opened else { return nil }
            let rest = terms.span - opened.duration(to: clock())
            if rest > .zero { return rest }
            // Over: one may try, the others wait for what comes of it.
            if circuit.isTrying { return .seconds(1) }
            circuits[host]?.isTrying = true
            return nil
        }
    }

    /// The host has answered, if only to refuse.
    func noteAnswer(from host: String) {
        circuits.withLock { _ = $0.removeValue(forKey: host) }
    }

    /// The host did not answer, or answered that it cannot.
    func noteFailure(of host: String) {
        guard terms.failures > 0 else { return }
        circuits.withLock { circuits in
            var circuit = circuits[host] ?? Circuit()
            circuit.failures += 1
            circuit.isTrying = false
            if circuit.failures >= terms.failures { circuit.opened = clock() }
            circuits[host] = circuit
        }
    }

    /// Nothing was learned of the host.
    func noteCancellation(of host: String) {
        circuits.withLock { $0[host]?.isTrying = false }
    }
}
