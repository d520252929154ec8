import Synchronization

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
