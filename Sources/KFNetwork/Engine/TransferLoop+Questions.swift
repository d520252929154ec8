extension TransferLoop {
    /// Asks the question in a task. There is none about admission: the loop asks the receivers of gates once per turn.
    func ask(_ question: Question?, for transfer: Transfer) {
        let (id, mailbox) = (transfer.ticket.id, mailbox)
        transfer.questions += 1
        let number = transfer.questions
        let asking = question.map { ask in
            Task { _ = mailbox.post(.decide(id, question: number, await ask())) }
        }
        let deadline = transfer.request.terms.options.timeout.map { notes.now + $0 } ?? .distantFuture
        transfer.question = (number, asking, deadline)
        notes.nextDeadline = min(notes.nextDeadline, transfer.deadline)
    }
}
