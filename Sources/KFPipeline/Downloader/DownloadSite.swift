import KFNetwork
import Synchronization

/// The transport, the circuit breakers and the back-pressure that all downloads of a downloader share.
final class DownloadSite: Sendable {
    let transport: any Transport
    let circuits: HostCircuits
    /// The bodies that have arrived and are not stored yet. While it is full, no new transfer starts: where processing or
    /// storing is slower than the network, this bounds memory and the work that a kill loses.
    let backlog: Room
    /// Called when a host gets no requests for a while.
    let onRest: (@Sendable (_ host: String, HostRest) -> Void)?

    init(
        _ transport: any Transport, _ circuits: HostCircuits,
        onRest: (@Sendable (_ host: String, HostRest) -> Void)? = nil
    ) {
        self.transport = transport
        backlog = Room { transport.hold($0) }
        self.circuits = circuits
        self.onRest = onRest
    }

    /// Counts a failure of the host, which may open its circuit.
    func noteFailure(of host: String) {
        if let rest = circuits.noteFailure(of: host) { onRest?(host, rest) }
    }

    /// Starts transfers, and cancels those that were abandoned meanwhile.
    func start(_ starts: [TransferStart]) {
        if starts.isEmpty { return }
        transport.start(starts)
        // A cancellation before the start found no transfer to cancel.
        for start in starts where (start.token as? ImageDownload)?.isAbandoned == true { transport.cancel(start.id) }
    }
}

/// The reason why a host gets no requests for a while.
package enum HostRest: Sendable, Equatable {
    /// A response asked for it with Retry-After.
    case retryAfter(Duration)
    /// The circuit breaker opened after so many failures in a row.
    case circuitOpen(failures: Int, Duration)

    package var span: Duration {
        switch self {
        case .retryAfter(let span), .circuitOpen(_, let span): span
        }
    }
}

/// The part that performs transfers: the transfer engine, or a substitute in tests.
protocol Transport: Sendable {
    /// Queues transfers. Each ends once, through its receiver.
    func start(_ transfers: [TransferStart])
    func cancel(_ id: UInt64)
    func prioritize(_ id: UInt64, _ priority: Float)
    /// Starts no new transfers while `isHeld` is true.
    func hold(_ isHeld: Bool)
    /// Starts no transfers to the host for this duration.
    func pause(host: String, for duration: Duration)
    func drain()
    func shutdown()
}

extension TransferEngine: Transport {}

/// The circuit breakers of all hosts. After a number of failures in a row, requests to a host fail at once for a while.
/// Then one trial request closes the circuit or opens it again.
final class HostCircuits: Sendable {
    struct Terms: Sendable {
        /// The number of failures in a row that opens a circuit; 0 disables circuit breakers.
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

    /// Returns the time until the host may be asked again; nil when it may be asked now.
    func wait(for host: String) -> Duration? {
        circuits.withLock { circuits in
            guard let circuit = circuits[host], let opened = circuit.opened else { return nil }
            let rest = terms.span - opened.duration(to: clock())
            if rest > .zero { return rest }
            // The circuit is half open: one request tries, and the others wait for its result.
            if circuit.isTrying { return .seconds(1) }
            circuits[host]?.isTrying = true
            return nil
        }
    }

    /// Closes the circuit: the host responded, even if it refused.
    func noteAnswer(from host: String) {
        circuits.withLock { _ = $0.removeValue(forKey: host) }
    }

    /// Counts a failure: the host did not respond, or reported that it cannot serve. Returns the rest if the circuit
    /// has opened.
    @discardableResult
    func noteFailure(of host: String) -> HostRest? {
        guard terms.failures > 0 else { return nil }
        return circuits.withLock { circuits in
            var circuit = circuits[host] ?? Circuit()
            let wasOpen = circuit.opened.map { $0.duration(to: clock()) < terms.span } ?? false
            circuit.failures += 1
            circuit.isTrying = false
            if circuit.failures >= terms.failures { circuit.opened = clock() }
            circuits[host] = circuit
            return circuit.opened == nil || wasOpen ? nil : .circuitOpen(failures: circuit.failures, terms.span)
        }
    }

    /// Ends a trial that brought no information about the host.
    func noteCancellation(of host: String) {
        circuits.withLock { $0[host]?.isTrying = false }
    }
}
