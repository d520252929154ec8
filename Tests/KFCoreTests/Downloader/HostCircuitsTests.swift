import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("A host that only fails is left alone")
struct HostCircuitsTests {
    private let time = SharedValue(ContinuousClock.now)

    private func circuits() -> HostCircuits {
        let time = time
        return HostCircuits(terms: .init(failures: 3, span: .seconds(60)), clock: { time.value })
    }

    @Test("After so many failures in a row, and for so long")
    func opens() {
        let circuits = circuits()
        for _ in 0..<2 { circuits.noteFailure(of: "h") }
        #expect(circuits.wait(for: "h") == nil)
        circuits.noteFailure(of: "h")
        #expect(circuits.wait(for: "h") == .seconds(60))
        #expect(circuits.wait(for: "other") == nil)
        time.value = time.value.advanced(by: .seconds(61))
        #expect(circuits.wait(for: "h") == nil)
    }

    @Test("An answer in between starts the count anew")
    func answers() {
        let circuits = circuits()
        for _ in 0..<5 {
            for _ in 0..<2 { circuits.noteFailure(of: "h") }
            circuits.noteAnswer(from: "h")
        }
        #expect(circuits.wait(for: "h") == nil)
    }

    @Test("When the time is over one tries, and what comes of it decides for all")
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

    @Test("A trial that was cancelled leaves the place to the next")
    func cancelledTrial() {
        let circuits = circuits()
        for _ in 0..<3 { circuits.noteFailure(of: "h") }
        time.value = time.value.advanced(by: .seconds(61))
        #expect(circuits.wait(for: "h") == nil)
        circuits.noteCancellation(of: "h")
        #expect(circuits.wait(for: "h") == nil)
    }
}
