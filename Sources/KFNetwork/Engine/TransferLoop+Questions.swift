extension TransferLoop {
    /// Calls the hook that decides the question, in a task of its own. Questions about admission are only recorded: the
    /// loop asks the receivers of gates once per turn.
    func ask(_ question: Question, for transfer: Transfer) {
        let (id, mailbox) = (transfer.ticket.id, mailbox)
        transfer.questions += 1
        let number = transfer.questions
        let asking = Self.hook(for: question, transfer.request.hooks).map { decide in
            Task { _ = mailbox.post(.decide(id, question: number, await decide())) }
        }
        let deadline = transfer.request.terms.options.timeout.map { notes.now + $0 } ?? .distantFuture
        transfer.question = (number, question, asking, deadline)
        notes.nextDeadline = min(notes.nextDeadline, transfer.deadline)
    }

    private static func hook(
        for question: Question, _ hooks: TransferHooks
    ) -> (@Sendable () async -> Verdict)? {
        switch question {
        case .redirect(let head, let hop):
            let proposed = TransferHooks.ProposedRequest(url: hop.url.bare, headers: hop.scope.headers)
            return { .redirect(await hooks.redirect?(head, proposed)) }
        case .challenge(let challenge, _):
            return { .challenge(await hooks.challenge?(challenge) ?? .performDefaultHandling) }
        case .response(let head): return { .response(await hooks.response?(head) ?? .allow) }
        case .admission: return nil
        }
    }
}
