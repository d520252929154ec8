import CCurl

extension TransferLoop {
    /// Takes finished transfers from libcurl and processes the notes. Returns true if other transfers may start now.
    func settle() -> Bool {
        var hasSettled = !notes.resolved.isEmpty
        for id in notes.resolved {
            guard let transfer = transfers[id], let host = transfer.host else { continue }
            scheduler.resolved(transfer.ticket, of: host, now: notes.now)
        }
        notes.resolved.removeAll(keepingCapacity: true)
        while let id = notes.begun.popLast() {
            guard let transfer = transfers[id], let host = transfer.host else { continue }
            scheduler.begins(transfer.ticket, of: host, now: notes.now)
            hasSettled = true
        }
        while let (id, question) = notes.asking.popLast() {
            if let transfer = transfers[id] { ask(question, for: transfer) }
        }
        while let (context, code) = multi.nextDone() {
            guard let context, let transfer = EasyHandle.context(of: context) else { continue }
            let ended = Unmanaged<Transfer>.fromOpaque(transfer).takeUnretainedValue()
            ending.append(Ending(transfer: ended, code: code))
            hasSettled = true
        }
        concludeAll()
        return hasSettled
    }

    func conclude(_ transfer: Transfer, code: CURLcode, overdue: TransferError?) {
        ending.append(Ending(transfer: transfer, code: code, overdue: overdue))
        concludeAll()
    }

    private func concludeAll() {
        guard !ending.isEmpty else { return }
        // `proceed` may end a further transfer, which comes back to this function.
        var ended: [Ending] = []
        swap(&ended, &ending)
        for place in ended.indices {
            ended[place].outcome = ended[place].transfer.conclude(ended[place].code, overdue: ended[place].overdue)
        }
        for place in ended.indices { leave(&ended[place]) }
        for end in ended { proceed(end.transfer, end.outcome) }
    }

    private func leave(_ end: inout Ending) {
        if case .wait = end.outcome { return }
        let (transfer, code) = (end.transfer, end.code)
        let isTimeout = if case .connectTimeout = end.overdue { true } else { code == CURLE_OPERATION_TIMEDOUT }
        if let host = transfer.host, !transfer.exchange.hasResolved, isTimeout || code == CURLE_COULDNT_RESOLVE_HOST {
            scheduler.unresolved(transfer.ticket, of: host, abandoned: isTimeout, now: notes.now)
        }
        let meaning = transfer.meaning(of: end.outcome, now: notes.now)
        leave(transfer, meaning, abandoned: end.overdue != nil || code == CURLE_OPERATION_TIMEDOUT)
        if case .limited(let span, _) = meaning, outwaits(transfer, asked: span) { end.outcome = .wait }
    }

    func proceed(_ transfer: Transfer, _ outcome: Transfer.Outcome) {
        switch outcome {
        case .answer(let result): answer(transfer, result)
        case .follow(let hop):
            transfer.hop = hop
            enqueue(transfer)
        case .start:
            starting.append(transfer)
            startAll()
        case .ask(let question):
            suspend(transfer)
            ask(question, for: transfer)
        case .wait: break
        case .proceed:
            // The whole body may have arrived while the hook was deciding.
            if transfer.exchange.isComplete { return conclude(transfer, code: CURLE_OK, overdue: nil) }
            guard let handle = transfer.handle, transfer.unpause() else { return }
            let code = handle.resume()
            // libcurl delivers its buffered bytes within that call, and does not report a failure of it again.
            if code != CURLE_OK { conclude(transfer, code: code, overdue: nil) }
        }
    }

    /// Releases the handle and the place of a running transfer.
    func leave(_ transfer: Transfer, _ meaning: HostOutcome = .unknown, abandoned: Bool) {
        if transfer.handle != nil {
            detach(transfer)
            let last = running.removeLast()
            if last !== transfer {
                running[transfer.runningIndex] = last
                last.runningIndex = transfer.runningIndex
            }
        }
        guard let host = transfer.host else { return }
        let isLookingUp = abandoned && !transfer.exchange.hasResolved
        let rest = scheduler.finish(
            transfer.ticket, of: host, meaning, abandonedLookup: isLookingUp, now: notes.now)
        if let rest {
            host.unawaited = rest
            notes.hostRests.append((host.name, rest, isAwaited: false))
            if let first = host.first { awaits(host, first) }
        }
        switch transfer.leaveConnection() {
        case true?: scheduler.observe(host, now: notes.now)
        case false?: host.reuseStart = .distantFuture
        case nil: break
        }
    }

    func detach(_ transfer: Transfer) {
        guard let handle = transfer.handle else { return }
        multi.remove(handle)
        transfer.handle = nil
        handle.context = nil
        // libcurl keeps the errno of a failed connection even over a reset.
        if transfer.endedCleanly { idleHandles.append(handle) }
    }
}

/// A transfer whose hop has ended, with libcurl's result or the error of a time limit.
struct Ending {
    let transfer: Transfer
    let code: CURLcode
    var overdue: TransferError?
    var outcome = Transfer.Outcome.wait
}
