import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The stores of shared work", .bounded)
struct OrderBookTests {
    private final class Work: SharedWork {
        let key: WorkKey
        let table: WorkTable

        init(_ key: WorkKey, in table: WorkTable) { (self.key, self.table) = (key, table) }

        func run(_ turn: inout Turn) {}
    }

    private final class Waiter: WorkWaiter {
        let wish = Wish()
        func waits(for work: any SharedWork) -> Bool { true }
        func cancel() {}
        func arrived(_ answer: WorkAnswer, _ turn: inout Turn) {}
    }

    private let table = WorkTable()

    private func join(_ name: String) -> WorkTable.Joining<Work> {
        let digest = Array("bytes".utf8).withUnsafeBytes { SHA256.hash($0) }
        let key = WorkKey.make(MakeKey(original: .stored(digest), target: EntryKey(key: name)))
        return table.join(key, Waiter()) { _ in Work(key, in: table) }
    }

    /// Returns new work that has delivered; nil if such work is in the table.
    private func delivered(_ name: String) -> Work? {
        guard case .started(let work) = join(name) else { return nil }
        Turn.run { table.deliver(.stored, of: work, stays: true, &$0) }
        return work
    }

    @Test("A store is prepared without the lock of its book")
    func preparing() throws {
        let cache = ImageCache(.init(directory: nil))
        let book = OrderBook(try #require(delivered("a")))
        let key = EntryKey(key: "k")
        let made = try book.order(for: key, in: cache) { () throws(KingfisherError) in
            // As another thread would: the writer ends a store, and a job wants the same.
            book.hold()
            book.release()
            let known = Result { () throws(KingfisherError) in
                try book.order(for: key, in: cache) { () throws(KingfisherError) in nil }
            }
            guard case .success(let other?) = known else {
                Issue.record("no order")
                return nil
            }
            #expect(!other.isNew && other.order.change == nil)
            return .renew([], EntryRenewal(expiration: .never, extending: .none))
        }
        #expect(made?.isNew == true && made?.order.change != nil)
        // What cannot be prepared leaves no order.
        for _ in 0..<2 {
            let none = try book.order(for: EntryKey(key: "none"), in: cache) { () throws(KingfisherError) in nil }
            #expect(none == nil)
        }
    }

    @Test("A book stays open as long as that of what is made of it")
    func parent() throws {
        let parent = OrderBook(try #require(delivered("download")))
        let child = OrderBook(try #require(delivered("making")), of: parent)
        parent.release()
        #expect(delivered("download") == nil && delivered("making") == nil)
        child.release()
        #expect(delivered("download") != nil && delivered("making") != nil)
    }
}
