import CCurl

extension TransferLoop {
    /// Ends the transfers whose time is over.
    func expire() {
        guard notes.nextDeadline <= notes.now else { return }
        var next = MonotonicTime.distantFuture
        for transfer in running {
            if let error = transfer.overdue(now: notes.now) {
                conclude(transfer, code: CURLE_OPERATION_TIMEDOUT, overdue: error)
            } else {
                next = min(next, transfer.deadline)
            }
        }
        for transfer in suspended.values {
            if let error = transfer.overdue(now: notes.now) {
                end(transfer, error)
            } else {
                next = min(next, transfer.deadline)
            }
        }
        notes.nextDeadline = next
    }

    /// Lets a transfer whose request was refused for a limit rest until its host may be asked again. Returns false if it
    /// ends with that refusal.
    func outwaits(_ transfer: Transfer, asked span: Duration?) -> Bool {
        guard case .outwait(let most) = transfer.request.limits, !isDraining, let host = transfer.host,
            !host.state.isBarren(now: notes.now),
            let span = transfer.limited(until: host.state.rest, asked: span, most)
        else { return false }
        transfer.request.gate?.leave()
        rests.insert(transfer.ticket.id, until: notes.now + span)
        awaits(host, transfer.ticket)
        return true
    }

    /// Notes that a transfer waits for its host's rest, if it does, for the first of them to be told.
    func awaits(_ host: HostQueue, _ ticket: Ticket) {
        guard let rest = host.unawaited, !host.rests(tooLongFor: ticket, now: notes.now) else { return }
        host.unawaited = nil
        if host.state.rest > notes.now { notes.hostRests.append((host.name, rest, isAwaited: true)) }
    }

    /// Tells of the hosts that get no requests for a while.
    func tellRests() {
        if notes.hostRests.isEmpty { return }
        if let tell = configuration.onHostRest { tell(notes.hostRests) }
        notes.hostRests.removeAll(keepingCapacity: true)
    }

    /// Counts the bytes of this turn, and lets paused bodies go on, the longest paused first, as far as the rate allows.
    ///
    /// libcurl's own limit is not for this: 7.88 lets 3 MB from loopback pass a limit of 500 KB/s.
    func keepRate() {
        guard budget != nil else { return }
        settleBudget()
        while notes.allowance > 0, !notes.throttled.isEmpty {
            let id = notes.throttled.removeFirst()
            if let transfer = transfers[id], transfer.exchange.isPaused { proceed(transfer, .proceed) }
            settleBudget()
        }
    }

    private func settleBudget() {
        if let left = budget?.settle(notes.allowance, now: notes.now) { notes.allowance = left }
    }

    /// The time at which the rate allows more; never, if nothing waits for that.
    var budgetOpens: MonotonicTime {
        guard let budget, notes.allowance <= 0, scheduler.waiting > 0 || !notes.throttled.isEmpty else {
            return .distantFuture
        }
        return budget.opens
    }
}

/// The bytes that may arrive over all transfers, at a rate.
struct ByteBudget {
    /// The bytes per second.
    private let rate: Double
    /// The bytes that have arrived too early, and those that may arrive now.
    private var debt = 0.0
    private var granted: Int64 = 0
    private var last = MonotonicTime.now

    init(rate: Int64) { self.rate = Double(max(1, rate)) }

    /// Takes what is left of the bytes that were granted last, and returns those that may arrive now: as many as come in
    /// a tenth of a second.
    mutating func settle(_ left: Int64, now: MonotonicTime) -> Int64 {
        debt = max(0, debt + Double(granted - left) - last.seconds(to: now) * rate)
        last = now
        granted = Int64(clamping: max(0, rate / 10 - debt).rounded(.up))
        return granted
    }

    /// The time at which a tenth of a second's bytes are free again.
    var opens: MonotonicTime { last.advanced(nanoseconds: MonotonicTime.nanoseconds(debt / rate)) }
}
