import CCurl

/// The event loop of the I/O thread: takes commands, drives libcurl, and delivers results. Made and used on that
/// thread.
///
/// Accesses to its fields are not checked for overlap: code that is called during an access does not call the loop.
final class TransferLoop {
    let mailbox: Mailbox
    let configuration: EngineConfiguration
    let multi: MultiHandle
    let notes: LoopNotes
    @exclusivity(unchecked) var scheduler: Scheduler
    /// All transfers without a result, by number.
    @exclusivity(unchecked) var transfers = TransferTable()
    /// The transfers without a handle whose time runs: they wait for a decision, or for the turn of a later hop.
    @exclusivity(unchecked) var suspended: [UInt64: Transfer] = [:]
    /// The transfers with a handle.
    @exclusivity(unchecked) var running: [Transfer] = []
    @exclusivity(unchecked) var idleHandles: [EasyHandle] = []
    private let shares = Shares()
    /// The transfers that this turn starts, and those that it ends. One step is taken for all of them before the next:
    /// one by one, each step's code would leave the processor's cache before it is used again.
    @exclusivity(unchecked) var starting: [Transfer] = []
    @exclusivity(unchecked) var ending: [Ending] = []
    @exclusivity(unchecked) private var latestURL: TransferURL?
    @exclusivity(unchecked) private var deliveries = Outbox<EndedTransfer>()
    /// The time at which the oldest of them ended.
    @exclusivity(unchecked) private var oldestDelivery = MonotonicTime.distantFuture
    /// The gates that were undecided in this turn.
    @exclusivity(unchecked) private var admissions = Outbox<
        (gate: any TransferGate, asked: (transfer: UInt64, question: Int))
    >()
    @exclusivity(unchecked) var rests = RestQueue()
    @exclusivity(unchecked) private var orders: UInt64 = 0
    /// The limit of the rate at which bodies arrive; nil is unlimited.
    @exclusivity(unchecked) var budget: ByteBudget?

    private static let maxHeld = 64
    /// The size of a read under a limit of the rate, so that many transfers share it.
    private static let limitedBufferSize = 16 << 10
    private static let maxHold: Int64 = 2_000_000
    /// The greatest number of `.later` and `.ended` from gates in one turn, so that sockets are served in between.
    private static let maxRefusals = 256
    private static let shortestRest = Duration.milliseconds(1)
    @exclusivity(unchecked) private var isHeld = false
    /// Whether the last turn stopped at `maxRefusals`, with transfers left in the queue that could start.
    @exclusivity(unchecked) private var isBehind = false
    @exclusivity(unchecked) private(set) var isDraining = false
    @exclusivity(unchecked) private var isStopping = false

    /// Runs until `.stop` is posted. If libcurl cannot be used, every transfer ends with that error.
    static func run(mailbox: Mailbox, configuration: EngineConfiguration) {
        var problem: TransferError?
        if let detail = kf_curl_load() {
            problem = .libraryMissing(detail: String(cString: detail))
        } else if let multi = MultiHandle(keptConnections: configuration.keptConnections) {
            let loop = TransferLoop(mailbox: mailbox, configuration: configuration, multi: multi)
            mailbox.attach(multi.waker)
            do throws(TransferError) {
                try loop.run()
            } catch {
                problem = error
            }
            loop.abandon(problem ?? .shutDown)
        } else {
            problem = .engine(detail: "out of memory or file descriptors")
        }
        for case .start(let starts) in mailbox.close() { Outbox.refuse(starts, problem ?? .shutDown) }
    }

    private init(mailbox: Mailbox, configuration: EngineConfiguration, multi: MultiHandle) {
        self.mailbox = mailbox
        self.configuration = configuration
        self.multi = multi
        notes = LoopNotes()
        budget = configuration.bytesPerSecond.map { ByteBudget(rate: $0) }
        if budget != nil { notes.allowance = 0 }
        scheduler = Scheduler(configuration)
    }

    private func run() throws(TransferError) {
        while true {
            // A sink may have been slow: transfers that start now must not be charged for that.
            notes.now = .now
            for command in mailbox.take() { obey(command) }
            if isStopping { return }
            endRests()
            keepRate()
            startWaiting()
            // Before the wait, which the timer of an added transfer would end at once.
            try multi.actOnTimer()
            let hasSettled = settle()
            tellRests()
            let isHolding = holdsDeliveries
            if !isHolding { deliver() }
            multi.wait(milliseconds: !hasSettled && mailbox.sleeps() ? (isHolding ? min(1, pollTime) : pollTime) : 0)
            notes.now = .now
            try multi.act()
            keepRate()
            _ = settle()
            expire()
        }
    }

    private func abandon(_ error: TransferError) {
        for transfer in running { detach(transfer) }
        running = []
        for transfer in transfers.all { answer(transfer, .failure(error)) }
        idleHandles = []
        deliver()
    }

    /// Whether results are held back, to be delivered together.
    ///
    /// Waking a sleeping thread per small response doubled the time of 5,000 of them on two cores. So results wait up
    /// to 2 ms, but only while queued transfers use the connections: a caller's next request would have to wait anyway.
    private var holdsDeliveries: Bool {
        guard 1..<Self.maxHeld ~= deliveries.count, scheduler.waiting > 0 else { return false }
        return notes.now < oldestDelivery.advanced(nanoseconds: Self.maxHold)
    }

    private var pollTime: Int64 {
        if isBehind { return 0 }
        var next = min(notes.nextDeadline, rests.nextEnd ?? .distantFuture)
        next = min(next, budgetOpens)
        // While held, a host that becomes ready cannot start anything, so it must not end the wait.
        if !isHeld, let wake = scheduler.nextWake { next = min(next, wake) }
        return next.milliseconds(after: .now, limit: 60_000)
    }

    // MARK: Commands

    private func obey(_ command: Command) {
        switch command {
        case .start(let starts): for start in starts { enter(start) }
        case .cancel(let id):
            if let transfer = transfers[id] { end(transfer, .cancelled) }
        case .prioritize(let id, let priority):
            guard let transfer = transfers[id] else { return }
            scheduler.change(transfer.ticket, of: transfer.host, priority: priority, now: notes.now)
        case .decide(let id, let number, let verdict): decide(id, number, verdict)
        case .admit(let asked, let answers):
            for (asked, isAdmitted) in zip(asked, answers) {
                decide(asked.transfer, asked.question) { _ in isAdmitted ? .start : .answer(.failure(.notAdmitted)) }
            }
        case .hold(let isHeld): self.isHeld = isHeld
        case .drain:
            isDraining = true
            let idle = transfers.all.filter { $0.isWaiting || rests.contains($0.ticket.id) }
            for id in idle.map(\.ticket.id) { obey(.cancel(id)) }
        case .stop: isStopping = true
        }
    }

    /// Ends a transfer wherever it is.
    func end(_ transfer: Transfer, _ error: TransferError) {
        if transfer.handle != nil {
            leave(transfer, abandoned: true)
        } else if transfer.isAtGate {
            turnAway(transfer)
        } else if rests.remove(transfer.ticket.id) {
            // A resting transfer has no other place.
        } else if let host = transfer.host {
            scheduler.withdraw(transfer.ticket, from: host)
        }
        answer(transfer, .failure(error))
    }

    private func enter(_ start: TransferStart) {
        guard !isDraining else { return report(start, .failure(.cancelled)) }
        let url: TransferURL
        do throws(TransferError) {
            url = try TransferURL(start.request.url, neighbour: latestURL)
            guard url.origin.isHTTP else { throw .unsupportedScheme(url.origin.scheme) }
            guard !url.origin.host.isEmpty else { throw .invalidURL }
        } catch {
            return report(start, .failure(error))
        }
        if url.origin !== latestURL?.origin { latestURL = url }
        orders += 1
        let ticket = Ticket(
            id: start.id, order: orders, priority: start.request.priority, patience: start.request.limits.patience)
        let transfer = Transfer(start, url: url, ticket: ticket, notes: notes, connections: multi.connections)
        transfers.insert(transfer)
        if let delay = start.delay, delay > .zero {
            rests.insert(ticket.id, until: notes.now + delay)
        } else {
            enqueue(transfer)
        }
    }

    func enqueue(_ transfer: Transfer) {
        let host = scheduler.enqueue(transfer.ticket, at: transfer.hop.url.origin, now: notes.now)
        transfer.host = host
        if transfer.hasStarted { suspend(transfer) }
        if host.unawaited != nil { awaits(host, transfer.ticket) }
    }

    /// Lets the time of a transfer without a handle run on.
    func suspend(_ transfer: Transfer) {
        suspended[transfer.ticket.id] = transfer
        notes.nextDeadline = min(notes.nextDeadline, transfer.deadline)
    }

    /// Records the end of a transfer for its receiver.
    private func report(
        _ start: TransferStart, _ result: Transfer.Answer, address: String? = nil, requests: Int = 0
    ) {
        if deliveries.count == 0 { oldestDelivery = notes.now }
        deliveries.append(start, result, address: address, requests: requests)
    }

    private func deliver() { deliveries.empty { $0.ended($1) } }

    func answer(_ transfer: Transfer, _ answer: Transfer.Answer) {
        transfers.remove(transfer.ticket.id)
        transfer.question?.asking?.cancel()
        if !suspended.isEmpty { suspended[transfer.ticket.id] = nil }
        let address: String? = if case .failure = answer { transfer.exchange.connection?.remote } else { nil }
        report(transfer.start, answer, address: address, requests: transfer.requests)
    }

    private func decide(_ id: UInt64, _ number: Int, _ verdict: (Transfer) -> Transfer.Outcome) {
        guard let transfer = transfers[id], transfer.question?.number == number else { return }
        transfer.question = nil
        let outcome = verdict(transfer)
        if case .answer = outcome {
            // The response hook has refused what the host served.
            if transfer.handle != nil { leave(transfer, .answered(), abandoned: false) }
            if transfer.isAtGate { turnAway(transfer) }
        }
        proceed(transfer, outcome)
    }

    // MARK: Hops

    private func startWaiting() {
        isBehind = false
        var refusals = 0
        while !isHeld, !isBehind, notes.allowance > 0, let ticket = scheduler.next(now: notes.now) {
            guard let transfer = transfers[ticket.id] else { continue }
            let gate = transfer.request.gate
            let refusal = transfer.refusal(now: notes.now)
            switch refusal == nil ? gate?.enter() ?? .open : nil {
            case nil:
                turnAway(transfer)
                if let refusal { answer(transfer, .failure(refusal)) }
            case .open:
                starting.append(transfer)
                continue
            case .undecided:
                transfer.isAtGate = true
                suspend(transfer)
                ask(nil, for: transfer)
                guard let gate else { continue }
                admissions.append((gate, (ticket.id, transfer.questions)), to: transfer.start.receiver)
                continue
            case .later(let span): rest(transfer, for: span)
            case .ended:
                turnAway(transfer)
                answer(transfer, .failure(.notAdmitted))
            }
            refusals += 1
            isBehind = refusals == Self.maxRefusals
        }
        // A failed start leaves its place to another transfer.
        if startAll() { isBehind = true }
        admissions.empty { receiver, questions in
            receiver.decide(questions.map(\.gate)) { [mailbox, asked = questions.map(\.asked)] answers in
                _ = mailbox.post(.admit(asked, answers))
            }
        }
    }

    /// Releases the place of a transfer whose gate answered `.later`, and queues it again after `span`.
    private func rest(_ transfer: Transfer, for span: Duration) {
        turnAway(transfer)
        guard !isDraining else { return answer(transfer, .failure(.cancelled)) }
        let span = max(span, Self.shortestRest)
        if transfer.hasStarted { transfer.rested(span) }
        rests.insert(transfer.ticket.id, until: notes.now + span)
    }

    private func endRests() {
        while let id = rests.popFirst(now: notes.now) {
            if let transfer = transfers[id] { enqueue(transfer) }
        }
    }

    /// Returns whether the start of one has failed.
    @discardableResult
    func startAll() -> Bool {
        for transfer in starting { prepare(transfer) }
        var hasFailed = false
        for transfer in starting {
            // Without a handle, it has ended.
            if let handle = transfer.handle {
                attempt(transfer) { () throws(TransferError) in try multi.add(handle) }
            }
            if transfer.handle == nil { hasFailed = true }
        }
        starting.removeAll(keepingCapacity: true)
        return hasFailed
    }

    /// Ends the transfer if a step of its start fails.
    private func attempt(_ transfer: Transfer, _ step: () throws(TransferError) -> Void) {
        do throws(TransferError) {
            try step()
        } catch {
            leave(transfer, abandoned: false)
            answer(transfer, .failure(error))
        }
    }

    /// Sets up a handle for a transfer that begins its hop.
    private func prepare(_ transfer: Transfer) {
        transfer.isAtGate = false
        if !suspended.isEmpty { suspended[transfer.ticket.id] = nil }
        attempt(transfer) { () throws(TransferError) in
            guard let handle = idleHandles.popLast() ?? EasyHandle(connections: multi.connections) else {
                throw .engine(detail: "out of memory")
            }
            transfer.begin(on: handle)
            transfer.runningIndex = running.count
            running.append(transfer)
            var names = transfer.host?.names
            try handle.use(shares.share(cookieJar: transfer.request.terms.options.cookieJar, names: &names))
            transfer.host?.names = names
            try transfer.configure(
                handle, receiveBufferSize: budget == nil ? configuration.receiveBufferSize : Self.limitedBufferSize)
            notes.nextDeadline = min(notes.nextDeadline, transfer.deadline)
        }
    }

    /// Releases the place of a transfer that has not begun its hop.
    func turnAway(_ transfer: Transfer) {
        transfer.isAtGate = false
        guard let host = transfer.host else { return }
        scheduler.refuse(transfer.ticket, of: host, now: notes.now)
    }
}
