import KFStorage
import KFTerms
import Support
import Testing

@testable import KFPipeline

@Suite("The stores of a body", .bounded)
struct BodyTests {
    private final class Waiter: WorkWaiter {
        let wish = Wish()
        func waits(for work: any SharedWork) -> Bool { true }
        func cancel() {}
        func arrived(_ answer: Answer, _ turn: inout Turn) {}
    }

    private let table = WorkTable()
    private let cache = ImageCache(.init(directory: nil))
    private let change = Store.renew([], EntryRenewal(expiration: .never, extending: .none))

    /// Returns the body of new work that has delivered; nil if such work is in the table.
    private func delivered(_ name: String = "a") -> Body? {
        let work = IdleWork(name, in: table)
        guard case .started = table.join(work, Waiter()) else { return nil }
        Turn.run { table.deliver(.stored, of: work, stays: true, &$0) }
        return Body(confirmedBy: work)
    }

    @Test("A store is prepared without the lock of its body")
    func preparing() throws {
        let body = try #require(delivered())
        let key = EntryKey(key: "k")
        var (turn, other) = (Turn(), Turn())
        let place = body.keep(key, in: cache, &turn) {
            // As another thread would: the writer ends a store, and a job wants the same.
            body.hold()
            body.release()
            #expect(body.keep(key, in: cache, &other) { nil } == 0)
            return change
        }
        #expect(place == 0 && turn.stores == 1 && other.stores == 0 && body.outcome(of: 0) == nil)
    }

    @Test("A store that cannot be prepared may be tried again")
    func failing() throws {
        let body = try #require(delivered())
        let key = EntryKey(key: "k")
        var turn = Turn()
        for _ in 0..<2 { #expect(body.keep(key, in: cache, &turn) { nil } == nil, "there is nothing to store") }
        let failed = body.keep(key, in: cache, &turn) { () throws(KingfisherError) in
            throw .cacheError(reason: .diskIsFull(detail: "a test"))
        }
        guard let failed, case .failure? = body.outcome(of: failed) else {
            Issue.record("the store was ordered")
            return
        }
        let again = body.keep(key, in: cache, &turn) { change }
        #expect(again != nil && again != failed && turn.stores == 1)
    }

    @Test("Work is over when every store of its body has ended")
    func ending() throws {
        let body = try #require(delivered())
        var turn = Turn()
        for name in ["k", "l"] { _ = body.keep(EntryKey(key: name), in: cache, &turn) { change } }
        body.release()
        for place in 0..<2 {
            #expect(delivered() == nil)
            body.end(place, .success(nil), &turn)
        }
        #expect(delivered() != nil)
    }
}
