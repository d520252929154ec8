import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Circuit breakers of hosts")
struct HostCircuitsTests {
    private let time = SharedValue(ContinuousClock.now)

    private func circuits() -> HostCircuits {
        let time = time
        return HostCircuits(terms: .init(failures: 3, span: .seconds(60)), clock: { time.value })
    }

    @Test("Failures in a row open the circuit for a fixed time")
    func opens() {
        let circuits = circuits()
        for _ in 0..<2 { circuits.noteFailure(of: "h") }
        #expect(circuits.wait(for: "h") == nil)
        circuits.noteFailure(of: "h")
        #expect(circuits.wait(for: "h") == .seconds(60))
        #expect(circuits.wait(for: "other") == nil)
        time.value = time.value.advanced(by: .seconds(60))
        #expect(circuits.wait(for: "h") == nil)
    }

    @Test("An answer resets the count of failures")
    func answers() {
        let circuits = circuits()
        for _ in 0..<5 {
            for _ in 0..<2 { circuits.noteFailure(of: "h") }
            circuits.noteAnswer(from: "h")
        }
        #expect(circuits.wait(for: "h") == nil)
    }

    @Test("One trial decides whether an open circuit closes")
    func trial() {
        let circuits = circuits()
        for _ in 0..<3 { circuits.noteFailure(of: "h") }
        time.value = time.value.advanced(by: .seconds(61))
        #expect(circuits.wait(for: "h") == nil)
        #expect(circuits.wait(for: "h") != nil)
        circuits.noteFailure(of: "h")
        #expect(circuits.wait(for: "h") == .seconds(60))
        time.value = time.value.advanced(by: .seconds(61))
        #expect(circuits.wait(for: "h") == nil)
        circuits.noteAnswer(from: "h")
        #expect(circuits.wait(for: "h") == nil)
    }

    @Test("A cancelled trial lets the next request try")
    func cancelledTrial() {
        let circuits = circuits()
        for _ in 0..<3 { circuits.noteFailure(of: "h") }
        time.value = time.value.advanced(by: .seconds(61))
        #expect(circuits.wait(for: "h") == nil)
        circuits.noteCancellation(of: "h")
        #expect(circuits.wait(for: "h") == nil)
    }
}
