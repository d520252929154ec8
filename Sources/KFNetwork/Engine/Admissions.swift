/// The gates that were undecided in one turn of the loop, by receiver. Confined to the I/O thread.
struct Admissions {
    private var batches: [(receiver: any TransferReceiver, gates: [any TransferGate], asked: [AdmissionQuestion])] = []

    mutating func append(_ gate: any TransferGate, of asked: AdmissionQuestion, to receiver: any TransferReceiver) {
        if let index = batches.firstIndex(where: { $0.receiver === receiver }) {
            batches[index].gates.append(gate)
            batches[index].asked.append(asked)
        } else {
            batches.append((receiver, [gate], [asked]))
        }
    }

    /// Asks the receivers. Each answers with one command.
    mutating func ask(_ mailbox: Mailbox) {
        guard !batches.isEmpty else { return }
        let full = batches
        batches = []
        for (receiver, gates, asked) in full {
            receiver.decide(gates) { answers in _ = mailbox.post(.admit(asked, answers)) }
        }
    }
}
