import Foundation
import KFCore
import Support
import Testing

// `explain` and a dry run announce the first step of a retrieval. These are the words, and what an observer sees when
// they come true. N is the number of requests that the origin received.
//
// | word       | way of the result | error             | N | the first request                         |
// |------------|-------------------|-------------------|---|-------------------------------------------|
// | memory     | memory            |                   | 0 |                                           |
// | disk       | disk, or skipped  |                   | 0 |                                           |
// | derive     | derived           |                   | 0 |                                           |
// | remote     | remote            |                   | 0 |                                           |
// | answer     |                   | 2002 (remembered) | 0 |                                           |
// | leave_out  |                   | 2012              | 0 |                                           |
// | refuse     |                   | 3006              | 0 |                                           |
// | stale      | stale             |                   | 0 | one may follow if the options allow it    |
// | revalidate | by the origin     | by the origin     | 1 | conditional, with the headers of the plan |
// | request    | by the origin     | by the origin     | 1 | without conditions                        |
//
// By the origin: a 304 makes the way `revalidated`, and a 200 makes it `fetched`. A 404 is an error 2002 that is not
// remembered. A 503, a closed connection and a dead port make the way `stale` if the plan says that the stale entry can
// serve; otherwise they are errors. libcurl may repeat a request whose connection was closed, and no request arrives at
// a dead port.
//
// A dry run says less. It asks no remote, so in place of `request`, `revalidate`, `refuse` and `stale` the image may
// come from a remote, or an expired original of a remote may be revalidated or served. It does not tell whether a stale
// entry can serve after an error, nor memory from disk. Its states correspond to its words: `hit` to memory, disk and
// derive; `stale` to revalidate and stale; `missing` to answer; `left_out` to leave_out. The words request, remote and refuse are `stale` if the
// cache has an entry that can be read, and `missing` otherwise.

@Suite("explain and a dry run announce what a retrieval then does", .bounded)
struct DecisionTests {
    /// Another seed makes other states: `KF_DECISION_SEED=7 swift test --filter DecisionTests`. With
    /// `KF_DECISION_STATE=N`, the test prints and runs the state N alone.
    private static let seed = number("KF_DECISION_SEED").map { UInt64($0) } ?? 20_240_229
    /// `.ci/run` tries 2,000.
    private static let count = number("KF_DECISION_STATES") ?? 400
    /// The number of states that run at the same time.
    private static let width = 4
    /// The least number of states that each row of the precedence decides.
    private static let leastOfRow = count * 30 / 2000
    /// The number of kinds of mismatches for which a simple state is searched, as some seconds allow.
    private static let mostSimplified = 12

    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    /// An announcement that did not come true.
    private struct Mismatch: Sendable {
        let announcement: Announcement
        let deed: Deed
        let state: DecisionState
        let number: Int

        var kind: String {
            "\(announcement.by.rawValue) announces \(announcement.step), done: \(deed.word(state))"
                + (announcement.step.rawValue == deed.word(state) ? " (\(deed))" : "")
        }
    }

    private struct Findings: Sendable {
        var mismatches: [Mismatch] = []
        var rows: [Int: Int] = [:]
        var errors: [String] = []
    }

    @Test("Each random state ends as announced")
    func states() async throws {
        let world = try DecisionWorld()
        if let number = Self.number("KF_DECISION_STATE") {
            let state = DecisionState.random(number, seed: Self.seed)
            print("state \(number): \(state)")
            for (announcement, deed) in try await observe(state, in: world) {
                print("\(announcement.by.rawValue): \(announcement.step), done: \(deed)")
                #expect(announcement.fits(deed, state))
            }
            return
        }
        let start = ContinuousClock.now
        let findings = SharedValue(Findings())
        let next = SharedValue(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.width {
                group.addTask {
                    while true {
                        let number = next.take()
                        if number >= Self.count { return }
                        await run(number, in: world, findings)
                    }
                }
            }
        }
        print("\(Self.count) states in \(ContinuousClock.now - start)")
        await report(findings.value, in: world)
    }

    private func run(_ number: Int, in world: DecisionWorld, _ findings: SharedValue<Findings>) async {
        let state = DecisionState.random(number, seed: Self.seed)
        do {
            let observed = try await observe(state, in: world)
            findings.change { findings in
                for (announcement, deed) in observed where !announcement.fits(deed, state) {
                    findings.mismatches.append(
                        Mismatch(announcement: announcement, deed: deed, state: state, number: number))
                }
                for row in Set(observed.flatMap { state.rows(of: $0.deed) }) { findings.rows[row, default: 0] += 1 }
            }
        } catch {
            findings.change { $0.errors.append("state \(number) (\(state)): \(error)") }
        }
    }

    private func observe(
        _ state: DecisionState, in world: DecisionWorld
    ) async throws -> [(announcement: Announcement, deed: Deed)] {
        let announcements = try await world.announcements(state)
        let deeds = [try await world.retrieved(state), try await world.prefetched(state)]
        return zip(announcements, deeds).map { ($0, $1) }
    }

    private func report(_ findings: Findings, in world: DecisionWorld) async {
        let table = (0...12).map { "row \($0): \(findings.rows[$0] ?? 0)" }.joined(separator: ", ")
        print("seed \(Self.seed), \(Self.count) states; \(table)")
        for row in 1...12 { #expect(findings.rows[row] ?? 0 >= Self.leastOfRow, "row \(row)") }
        for error in findings.errors.prefix(3) { Issue.record("\(error)") }
        #expect(findings.errors.isEmpty, "\(findings.errors.count) states could not run")
        let kinds = Dictionary(grouping: findings.mismatches, by: \.kind)
        for (rank, (kind, mismatches)) in kinds.sorted(by: { $0.value.count > $1.value.count }).enumerated() {
            guard let first = mismatches.min(by: { $0.number < $1.number }) else { continue }
            let small = rank < Self.mostSimplified ? await simplest(first, in: world) : first.state
            Issue.record(
                "\(mismatches.count) × \(kind), first in state \(first.number) of seed \(Self.seed); for example: \(small)"
            )
        }
    }

    /// Leaves out parts of a state while the mismatch remains.
    private func simplest(_ mismatch: Mismatch, in world: DecisionWorld) async -> DecisionState {
        var state = mismatch.state
        var isSimpler = true
        while isSimpler {
            isSimpler = false
            for candidate in state.simpler where await shows(mismatch.kind, candidate, in: world) {
                state = candidate
                isSimpler = true
                break
            }
        }
        return state
    }

    private func shows(_ kind: String, _ state: DecisionState, in world: DecisionWorld) async -> Bool {
        // Some simpler states cannot be built.
        guard let observed = try? await observe(state, in: world) else { return false }
        return observed.contains { announcement, deed in
            !announcement.fits(deed, state)
                && Mismatch(announcement: announcement, deed: deed, state: state, number: 0).kind == kind
        }
    }
}

extension DecisionState {
    /// Returns the rows of the precedence that the deed shows:
    ///
    /// 0 offline; 1 forced; 2 memory; 3 memory or refresh; 4 a fresh file; 5 an expired or doubtful file is remembered;
    /// 6 another representation is chosen; 7 a remembered refusal; 8 stale while it is revalidated; 9 only the cache;
    /// 10 a remote; 11 a conditional request; 12 a plain request.
    fileprivate func rows(of deed: Deed) -> [Int] {
        var rows = isOffline ? [0] : []
        let isForced = forcesRefresh && !isOffline
        if deed.identifier.hasPrefix("vary=") { rows.append(6) }
        let isConditional = deed.requests.first?.isConditional
        let isOnlyCache = usesOnlyCache || isOffline
        if isForced { return rows + [1] }
        if isConditional == true || deed.way == .stale || deed.way == .revalidated { rows.append(5) }
        if deed.way == .memory { return rows + [2] }
        if usesMemoryOrRefresh, !isOffline { return rows + [3] }
        if deed.error?.isRemembered == true { return rows + [7] }
        switch deed.way {
        case .disk?, .derived?: return rows + [4]
        case .remote?: return rows + [10]
        case .stale? where isOnlyCache: return rows + [9]
        case .stale? where deed.requests.isEmpty && origin != .dead: return rows + [8]
        default: break
        }
        if isOnlyCache { return rows + [9] }
        if deed.way == .stale, staleWhileRevalidate == 10_000 { rows.append(8) }
        return rows + [isConditional == true ? 11 : 12]
    }
}

extension SharedValue<Int> {
    /// Returns the number, and counts on.
    fileprivate func take() -> Int {
        var number = 0
        change { value in
            number = value
            value += 1
        }
        return number
    }
}
