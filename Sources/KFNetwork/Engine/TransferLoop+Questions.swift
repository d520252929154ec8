extension TransferLoop {
    /// Calls the hook that decides the question, in a task of its own. Questions about admission are only recorded: the
    /// loop asks the receivers of gates once per turn.
    func ask(_ question: Question, for transfer: Transfer) {
        let (id, hooks, mailbox) = (transfer.ticket.id, transfer.request.hooks, mailbox)
        transfer.questions += 1
        let number = transfer.questions
        let asking: Task<Void, Never>?
        switch question {
        case .redirect(let head, let hop):
            let proposed = TransferHooks.ProposedRequest(url: hop.url.bare, headers: hop.headers)
            asking = Task {
                let answer = await hooks.redirect?(head, proposed)
                _ = mailbox.post(.decide(id, question: number, .redirect(answer)))
            }
        case .challenge(let challenge, _):
            asking = Task {
                let answer = await hooks.challenge?(challenge) ?? .performDefaultHandling
                _ = mailbox.post(.decide(id, question: number, .challenge(answer)))
            }
        case .response(let head):
            asking = Task {
                let answer = await hooks.response?(head) ?? .allow
                _ = mailbox.post(.decide(id, question: number, .response(answer)))
            }
        case .admission: asking = nil
        }
        let deadline = transfer.request.terms.options.timeout.map { notes.now + $0 } ?? .distantFuture
        transfer.question = (number, question, asking, deadline)
        notes.nextDeadline = min(notes.nextDeadline, transfer.deadline)
    }
}
