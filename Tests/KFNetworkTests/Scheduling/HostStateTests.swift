import Testing

@testable import KFNetwork

@Suite("What a host has shown")
struct HostStateTests {
    private let start = schedulerStart

    private func state(failures: Int = 10) -> HostState {
        HostState(EngineConfiguration(failures: failures), of: "a")
    }

    @discardableResult
    private func end(
        _ outcome: HostOutcome, _ state: inout HostState, id: UInt64 = 1, at now: MonotonicTime
    ) -> HostRest? {
        _ = state.started(id, now: now)
        return state.ended(id, outcome, startedAt: now, now: now)
    }

    private func admits(_ state: HostState, at now: MonotonicTime) -> Bool {
        if case .now = state.admission(active: 0, now: now) { true } else { false }
    }

    private func isFull(_ state: HostState, _ active: Int, at now: MonotonicTime) -> Bool {
        if case .full = state.admission(active: active, now: now) { true } else { false }
    }

    // MARK: The circuit

    @Test("Failures in a row open the circuit for a fixed time") func opens() {
        var state = state()
        for _ in 0..<9 { #expect(end(.failed(hasAnswered: false), &state, at: start) == nil) }
        #expect(state.refusal(now: start) == nil)
        #expect(
            end(.failed(hasAnswered: false), &state, at: start) == .circuitOpen(failures: 10, .seconds(60)))
        #expect(state.refusal(now: start + .seconds(59)) == .seconds(1))
        #expect(state.refusal(now: start + .seconds(60)) == nil)
    }

    @Test("An answer resets the count of failures") func answers() {
        var state = state()
        for _ in 0..<5 {
            for _ in 0..<9 { end(.failed(hasAnswered: true), &state, at: start) }
            end(.answered(), &state, at: start)
        }
        #expect(state.refusal(now: start) == nil)
    }

    @Test("A time-out counts three times until the host has answered", arguments: [false, true])
    func silence(hasAnswered: Bool) {
        var state = state()
        if hasAnswered { end(.answered(), &state, at: start) }
        for _ in 1..<(hasAnswered ? 10 : 4) { #expect(end(.silent, &state, at: start) == nil) }
        #expect(end(.silent, &state, at: start) == .circuitOpen(failures: hasAnswered ? 10 : 4, .seconds(60)))
    }

    @Test("One trial decides whether an open circuit closes", arguments: [false, true])
    func trial(succeeds: Bool) {
        var state = state()
        for _ in 0..<10 { end(.failed(hasAnswered: true), &state, at: start) }
        let later = start + .seconds(60)
        #expect(admits(state, at: later))
        _ = state.started(7, now: later)
        #expect(!admits(state, at: later))
        // Another request that is still under way says nothing.
        end(.failed(hasAnswered: true), &state, id: 8, at: later)
        let rest = state.ended(
            7, succeeds ? .answered() : .failed(hasAnswered: true), startedAt: later, now: later)
        #expect(rest == (succeeds ? nil : .circuitOpen(failures: 11, .seconds(60))))
        #expect(admits(state, at: later) == succeeds)
    }

    @Test("A cancelled trial lets the next request try") func cancelledTrial() {
        var state = state()
        for _ in 0..<10 { end(.failed(hasAnswered: true), &state, at: start) }
        let later = start + .seconds(60)
        end(.unknown, &state, id: 7, at: later)
        #expect(admits(state, at: later))
    }

    @Test("Without a number of failures no circuit opens") func noCircuit() {
        var state = state(failures: 0)
        for _ in 0..<1000 {
            #expect(state.ended(1, .silent, startedAt: start, now: start) == nil)
        }
        #expect(admits(state, at: start))
    }

    // MARK: Limits

    @Test("A refusal for a limit halves the places once for all that ran") func halves() {
        var state = state()
        for _ in 0..<8 { end(.answered(), &state, at: start) }
        let later = start + .seconds(2)
        for _ in 0..<8 {
            _ = state.ended(
                1, .limited(.seconds(1)), startedAt: start + .seconds(1), now: later)
        }
        let after = later + .seconds(1)
        #expect(!admits(state, at: later + .milliseconds(999)) && admits(state, at: after))
        #expect(!isFull(state, 3, at: after) && isFull(state, 4, at: after))
    }

    @Test("A limit without a time brings a rest of half a second") func plain() {
        var state = state()
        end(.answered(), &state, at: start)
        #expect(end(.limited(nil), &state, at: start) == nil)
        #expect(state.rest == start + .milliseconds(500))
    }

    @Test("A pace is learnt from the answers, then doubles until the next refusal") func pace() {
        var state = state()
        for index in 0..<40 as Range<Int64> {
            end(.answered(), &state, at: start.advanced(nanoseconds: index * 25_000_000))
        }
        let refused = start + .seconds(1)
        end(.limited(.seconds(1)), &state, at: refused)
        let begin = refused + .seconds(1)
        _ = state.started(1, now: begin)
        #expect(begin.span(to: state.next) == .milliseconds(25))
        _ = state.started(2, now: begin + .milliseconds(500))
        #expect((begin + .milliseconds(500)).seconds(to: state.next) < 0.013)
    }

    @Test("A status 503 without other answers is a failure and no limit") func unavailable() {
        var state = state()
        for _ in 0..<9 { end(.unavailable, &state, at: start) }
        #expect(admits(state, at: start))
        #expect(end(.unavailable, &state, at: start) != nil)
    }

    @Test("A host that asks for more than five minutes is not waited for") func tooLong() {
        var state = state()
        let rest = end(.limited(.seconds(3600)), &state, at: start)
        #expect(rest == .circuitOpen(failures: 1, .seconds(300)))
        var rests = LimitedRests()
        #expect(rests.add(until: state.rest, asked: .seconds(3600), now: start) == nil)
    }

    @Test("The rests of one transfer last five minutes at most") func rests() {
        var rests = LimitedRests()
        for _ in 0..<3 { #expect(rests.add(until: start + .seconds(99), asked: .seconds(99), now: start) != nil) }
        #expect(rests.add(until: start + .seconds(4), asked: .seconds(4), now: start) == nil)
        var own = LimitedRests()
        let spans = (0..<4).map { _ in own.add(until: start, asked: nil, now: start) }
        #expect(spans == [.zero, .milliseconds(500), .seconds(1), .seconds(2)])
    }

    // MARK: Quotas

    @Test("A host rests when its quota is used up") func quota() {
        var state = state()
        end(.answered(RequestQuota(left: 2, end: start + .seconds(30))), &state, at: start)
        _ = state.started(1, now: start)
        #expect(admits(state, at: start))
        _ = state.started(2, now: start)
        #expect(state.rest == start + .seconds(30))
    }

    @Test("A large quota sets no pace") func largeQuota() {
        var state = state()
        end(.answered(RequestQuota(left: 4999, end: start + .seconds(3600))), &state, at: start)
        for id in 0..<5000 as Range<UInt64> { _ = state.started(id, now: start) }
        #expect(admits(state, at: start))
    }

    @Test(
        "Both forms of the RateLimit header are read",
        arguments: [
            [("RateLimit", #""default";r=3;t=20"#)], [("RateLimit", "limit=100, remaining=3, reset=20")],
            [("RateLimit-Remaining", "3"), ("RateLimit-Reset", "20")],
        ])
    func headers(fields: [(String, String)]) {
        let quota = HeaderFields(fields.map { (name: $0.0, value: $0.1) }).quota(now: start)
        #expect(quota == RequestQuota(left: 3, end: start + .seconds(20)))
    }

    @Test(
        "Other RateLimit headers are ignored",
        arguments: [[("X-RateLimit-Remaining", "3")], [("RateLimit", "soon")], [("RateLimit-Remaining", "3")], []])
    func otherHeaders(fields: [(String, String)]) {
        #expect(HeaderFields(fields.map { (name: $0.0, value: $0.1) }).quota(now: start) == nil)
    }
}
