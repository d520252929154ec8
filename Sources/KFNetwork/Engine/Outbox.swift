/// What receivers are to be told, gathered for each of them. Confined to the I/O thread.
struct Outbox<Item> {
    private var batches: [(receiver: any TransferReceiver, items: [Item])] = []
    private(set) var count = 0

    mutating func append(_ item: Item, to receiver: any TransferReceiver) {
        count += 1
        if let index = batches.firstIndex(where: { $0.receiver === receiver }) {
            batches[index].items.append(item)
        } else {
            batches.append((receiver, [item]))
        }
    }

    /// Removes all items and passes each receiver its own.
    mutating func empty(_ tell: (any TransferReceiver, [Item]) -> Void) {
        guard count > 0 else { return }
        let full = batches
        (batches, count) = ([], 0)
        for (receiver, items) in full { tell(receiver, items) }
    }
}

extension Outbox<EndedTransfer> {
    mutating func append(
        _ start: TransferStart, _ result: Transfer.Answer, address: String? = nil, requests: Int = 0
    ) {
        var ended = EndedTransfer(id: start.id, token: start.token, result: result, requests: requests)
        ended.address = address
        append(ended, to: start.receiver)
    }

    /// Ends transfers that cannot start, with an error.
    static func refuse(_ starts: [TransferStart], _ error: TransferError) {
        var outbox = Outbox()
        for start in starts { outbox.append(start, .failure(error)) }
        outbox.empty { $0.ended($1) }
    }
}
