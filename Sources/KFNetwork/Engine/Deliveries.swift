/// Ended transfers that are still to be reported to their receivers. Confined to the I/O thread.
struct Deliveries {
    private var outboxes: [(receiver: any TransferReceiver, ended: [EndedTransfer])] = []
    private(set) var count = 0
    /// The time at which the oldest of them ended.
    private(set) var oldest = MonotonicTime(nanoseconds: 0)

    mutating func append(_ transfer: EndedTransfer, to receiver: any TransferReceiver, now: MonotonicTime) {
        if count == 0 { oldest = now }
        count += 1
        if let index = outboxes.firstIndex(where: { $0.receiver === receiver }) {
            outboxes[index].ended.append(transfer)
        } else {
            outboxes.append((receiver, [transfer]))
        }
    }

    /// Reports the transfers to their receivers.
    mutating func deliver() {
        guard count > 0 else { return }
        let full = outboxes
        outboxes = []
        count = 0
        for (receiver, ended) in full { receiver.ended(ended) }
    }

    /// Ends transfers that cannot start, with an error.
    static func refuse(_ transfers: [TransferStart], _ error: TransferError) {
        var deliveries = Deliveries()
        for transfer in transfers {
            let ended = EndedTransfer(id: transfer.id, token: transfer.token, result: .failure(error))
            deliveries.append(ended, to: transfer.receiver, now: .distantFuture)
        }
        deliveries.deliver()
    }
}
