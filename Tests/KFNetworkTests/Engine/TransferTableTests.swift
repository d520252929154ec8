import Testing

@testable import KFNetwork

@Suite("The table of transfers")
struct TransferTableTests {
    private func transfer() throws -> Transfer {
        let receiver = CollectingReceiver()
        let start = receiver.start("", "http://host/")
        return Transfer(
            start, url: try TransferURL(start.request.url), ticket: Ticket(id: start.id, order: 0, priority: 0),
            notes: LoopNotes(), connections: Connections(kept: 1))
    }

    @Test("The table finds exactly its transfers") func lookups() throws {
        var table = TransferTable()
        let transfers = try (0..<1000).map { _ in try transfer() }
        var present: Set<UInt64> = []
        var random = SystemRandomNumberGenerator()
        for transfer in transfers {
            table.insert(transfer)
            present.insert(transfer.ticket.id)
            guard Bool.random(using: &random), let gone = present.randomElement(using: &random) else { continue }
            table.remove(gone)
            present.remove(gone)
        }
        #expect(table.count == present.count)
        #expect(Set(table.all.map(\.ticket.id)) == present)
        #expect(transfers.allSatisfy { table[$0.ticket.id] === (present.contains($0.ticket.id) ? $0 : nil) })
    }
}
