import CCurl

/// What runs on the I/O thread: takes commands, keeps libcurl going, hands out answers. Made and used on that thread.
final class TransferLoop {
    private typealias Delivery = (continuation: UnsafeContinuation<Transfer.Answer, Never>, answer: Transfer.Answer)

    let mailbox: Mailbox
    private let configuration: EngineConfiguration
    private let multi: MultiHandle
    let notes = LoopNotes()
    private var scheduler: Scheduler
    /// Everything that has not been answered, by its number.
    private var transfers: [UInt64: Transfer] = [:]
    /// Those of them that wait for a decision and have no handle meanwhile.
    private var pondering: [UInt64: Transfer] = [:]
    /// Those that have a handle.
    private var running: [Transfer] = []
    /// Those that were put back into the queue for their next hop in this turn.
    private var hopping: [Transfer] = []
    private var idleHandles: [EasyHandle] = []
    private var names: (cache: NameCache, generation: Int)?
    private var latestURL: TransferURL?
    private var deliveries: [Delivery] = []
    /// When the oldest of the deliveries was made.
    private var firstHeld = MonotonicTime.now
    private var orders: UInt64 = 0

    private static let maxHeld = 64
    private static let maxHold = Duration.milliseconds(2)
    private var isDraining = false
    private var isStopping = false

    /// Runs until `.stop` is posted. Where libcurl cannot be used, every transfer is told so.
    static func run(mailbox: Mailbox, configuration: EngineConfiguration) {
        var problem: TransferError?
        if let detail = kf_curl_load() {
            problem = .libraryMissing(detail: String(cString: detail))
        } else if let multi = MultiHandle(keptConnections: configuration.maxConnections) {
            let loop = TransferLoop(mailbox: mailbox, configuration: configuration, multi: multi)
            mailbox.attach(multi.waker)
            do throws(TransferError) {
                try loop.run()
            } catch {
                problem = error
            }
            loop.abandon(problem ?? .cancelled)
        } else {
            problem = .engine(detail: "out of memory or descriptors")
        }
        for case .start(let start) in mailbox.close() {
            start.continuation.resume(returning: .failure(problem ?? .cancelled))
        }
    }

    private init(mailbox: Mailbox, configuration: EngineConfiguration, multi: MultiHandle) {
        self.mailbox = mailbox
        self.configuration = configuration
        self.multi = multi
        scheduler = Scheduler(
            Scheduler.Limits(
                total: max(1, configuration.maxConnections), perHost: max(1, configuration.maxPerHost),
                interval: configuration.ratePerHost.flatMap { $0 > 0 ? .seconds(min(1 / $0, 1e9)) : nil },
                resolvers: configuration.maxResolverThreads))
    }

    private func run() throws(TransferError) {
        while true {
            // A sink may have taken its time: what starts now must not be charged for that.
            notes.now = .now
            for command in mailbox.take() { obey(command) }
            if isStopping { return }
            startWaiting()
            let isHolding = holdsDeliveries
            if !isHolding { deliver() }
            multi.wait(milliseconds: mailbox.sleeps() ? (isHolding ? 1 : pollTime) : 0)
            notes.now = .now
            try multi.act()
            settle()
            expire()
        }
    }

    /// Everyone who still waits is told.
    private func abandon(_ error: TransferError) {
        for transfer in running { detach(transfer) }
        running = []
        for transfer in transfers.values { answer(transfer, .failure(error)) }
        idleHandles = []
        deliver()
    }

    /// Waking a sleeping thread of the pool for each of many small answers costs more than the answers do: on two
    /// cores it doubled the time of 5,000 of them. They are held back for two milliseconds while others wait to
    /// start anyway, so that no caller's next request is missed, and are then handed over all at once.
    private var holdsDeliveries: Bool {
        guard !deliveries.isEmpty else { return false }
        guard scheduler.waiting > 0, deliveries.count < Self.maxHeld else { return false }
        return notes.now < firstHeld + Self.maxHold
    }

    private func deliver() {
        guard !deliveries.isEmpty else { return }
        // From a thread of the pool: each answer that is given here would wake one, which would sleep until the next.
        Task { [deliveries] in
            for delivery in deliveries { delivery.continuation.resume(returning: delivery.answer) }
        }
        deliveries.removeAll(keepingCapacity: true)
    }

    private var pollTime: Int64 {
        let next = min(notes.nextDeadline, scheduler.nextWake ?? .distantFuture)
        return next.milliseconds(after: .now, limit: 60_000)
    }

    // MARK: Commands

    private func obey(_ command: Command) {
        switch command {
        case .start(let start): enter(start)
        case .cancel(let id):
            guard let transfer = transfers[id] else { return }
            if transfer.handle != nil {
                leave(transfer, abandoned: true)
            } else if transfer.isAtGate {
                turnAway(transfer)
            } else if let host = transfer.host {
                scheduler.withdraw(transfer.ticket, from: host)
            }
            answer(transfer, .failure(.cancelled))
        case .prioritize(let id, let priority):
            guard let transfer = transfers[id] else { return }
            scheduler.change(transfer.ticket, of: transfer.host, priority: priority, now: notes.now)
        case .resume(let id): unpause(id)
        case .decide(let id, let number, let decision):
            guard let transfer = transfers[id], transfer.question?.number == number else { return }
            decide(transfer, decision)
        case .pause(let host, let until): scheduler.pause(host, until: until, now: notes.now)
        case .drain:
            isDraining = true
            for id in transfers.values.filter({ !$0.hasStarted }).map(\.ticket.id) { obey(.cancel(id)) }
        case .stop: isStopping = true
        }
    }

    private func enter(_ start: Command.Start) {
        guard !isDraining else { return deliveries.append((start.continuation, .failure(.cancelled))) }
        let url: TransferURL
        do {
            url = try TransferURL(start.request.url, neighbour: latestURL)
            latestURL = url
        } catch {
            let problem: TransferError = error == .invalid ? .invalidURL : .engine(detail: "out of memory")
            return deliveries.append((start.continuation, .failure(problem)))
        }
        guard url.origin.scheme == "http" || url.origin.scheme == "https" else {
            return deliveries.append((start.continuation, .failure(.unsupportedScheme(url.origin.scheme))))
        }
        guard !url.origin.host.isEmpty else {
            return deliveries.append((start.continuation, .failure(.invalidURL)))
        }
        orders += 1
        let priority = attach(start.request.control, to: start.id) ?? start.request.priority
        let transfer = Transfer(
            request: start.request, url: url,
            ticket: Ticket(id: start.id, order: orders, priority: priority), sink: start.sink,
            notes: notes, connections: multi.connections, continuation: start.continuation)
        transfers[start.id] = transfer
        transfer.host = scheduler.enqueue(transfer.ticket, at: url.origin, now: notes.now)
    }

    /// From here on an order finds the transfer; the priority that was asked for before is given back.
    private func attach(_ control: TransferControl?, to id: UInt64) -> Float? {
        control?.attach { [mailbox] order in
            switch order {
            case .priority(let priority): _ = mailbox.post(.prioritize(id, priority))
            case .resume: _ = mailbox.post(.resume(id))
            }
        }
    }

    private func answer(_ transfer: Transfer, _ answer: Transfer.Answer) {
        transfers[transfer.ticket.id] = nil
        transfer.question?.asking.cancel()
        transfer.request.control?.detach()
        pondering[transfer.ticket.id] = nil
        if deliveries.isEmpty { firstHeld = notes.now }
        deliveries.append((transfer.continuation, answer))
    }

    private func decide(_ transfer: Transfer, _ decision: Decision) {
        pondering[transfer.ticket.id] = nil
        let outcome = transfer.resume(with: decision)
        if case .answer = outcome {
            if transfer.handle != nil { leave(transfer, abandoned: false) }
            if transfer.isAtGate { turnAway(transfer) }
        }
        proceed(transfer, outcome)
    }

    private func unpause(_ id: UInt64) {
        guard let transfer = transfers[id], let handle = transfer.handle, transfer.unpause() else { return }
        let code = handle.resume()
        // libcurl hands over what it kept within that call, and does not mention its failure again.
        if code != CURLE_OK { conclude(transfer, code: code, overdue: nil) }
    }

    // MARK: Hops

    private func startWaiting() {
        while let ticket = scheduler.next(now: notes.now) {
            guard let transfer = transfers[ticket.id] else { continue }
            switch transfer.request.gate?.enter() ?? .open {
            case .open: start(transfer)
            case .closed:
                turnAway(transfer)
                answer(transfer, .failure(.notAdmitted))
            case .undecided:
                transfer.isAtGate = true
                pondering[ticket.id] = transfer
                ask(.admission, for: transfer)
            }
        }
        // What goes on with its next hop at once keeps what its gate gave it.
        for transfer in hopping where transfer.ticket.isWaiting { transfer.request.gate?.leave() }
        hopping.removeAll(keepingCapacity: true)
    }

    private func start(_ transfer: Transfer) {
        transfer.isAtGate = false
        do throws(TransferError) {
            let handle = try takeHandle()
            transfer.begin(on: handle)
            transfer.runningIndex = running.count
            running.append(transfer)
            try handle.use(currentNames())
            try transfer.configure(handle, receiveBufferSize: configuration.receiveBufferSize)
            try multi.add(handle)
            notes.nextDeadline = min(notes.nextDeadline, transfer.deadline)
        } catch {
            leave(transfer, abandoned: false)
            answer(transfer, .failure(error))
        }
    }

    /// Gives back the place of a transfer that has not begun its hop.
    private func turnAway(_ transfer: Transfer) {
        transfer.isAtGate = false
        guard let host = transfer.host else { return }
        scheduler.refuse(transfer.ticket, of: host, now: notes.now)
    }

    private func takeHandle() throws(TransferError) -> EasyHandle {
        if let handle = idleHandles.popLast() { return handle }
        guard let handle = EasyHandle(connections: multi.connections) else { throw .engine(detail: "out of memory") }
        return handle
    }

    /// The cache for the names of the scheduler's present generation of hosts.
    private func currentNames() throws(TransferError) -> NameCache {
        if let names, names.generation == scheduler.nameGeneration { return names.cache }
        guard let cache = NameCache() else { throw .engine(detail: "out of memory") }
        names = (cache, scheduler.nameGeneration)
        return cache
    }

    /// Takes from libcurl what has ended.
    private func settle() {
        for id in notes.resolved {
            guard let transfer = transfers[id], let host = transfer.host else { continue }
            scheduler.resolved(transfer.ticket, of: host, now: notes.now)
        }
        notes.resolved.removeAll(keepingCapacity: true)
        for (host, span) in notes.pauses { scheduler.pause(host, until: notes.now + span, now: notes.now) }
        notes.pauses.removeAll(keepingCapacity: true)
        while let (id, question) = notes.asking.popLast() {
            if let transfer = transfers[id] { ask(question, for: transfer) }
        }
        while let (context, code) = multi.nextDone() {
            guard let context, let transfer = EasyHandle.context(of: context) else { continue }
            conclude(Unmanaged<Transfer>.fromOpaque(transfer).takeUnretainedValue(), code: code, overdue: nil)
        }
    }

    private func expire() {
        guard notes.nextDeadline <= notes.now else { return }
        var next = MonotonicTime.distantFuture
        for transfer in running {
            if let error = transfer.overdue(now: notes.now) {
                conclude(transfer, code: CURLE_OPERATION_TIMEDOUT, overdue: error)
            } else {
                next = min(next, transfer.deadline)
            }
        }
        for transfer in pondering.values {
            if let error = transfer.overdue(now: notes.now) {
                if transfer.isAtGate { turnAway(transfer) }
                answer(transfer, .failure(error))
            } else {
                next = min(next, transfer.deadline)
            }
        }
        notes.nextDeadline = next
    }

    private func conclude(_ transfer: Transfer, code: CURLcode, overdue: TransferError?) {
        let outcome = transfer.conclude(code, overdue: overdue)
        if case .wait = outcome { return }
        leave(transfer, abandoned: overdue != nil || code == CURLE_OPERATION_TIMEDOUT)
        proceed(transfer, outcome)
    }

    private func proceed(_ transfer: Transfer, _ outcome: Transfer.Outcome) {
        switch outcome {
        case .answer(let result): answer(transfer, result)
        case .follow(let hop):
            transfer.hop = hop
            transfer.host = scheduler.enqueue(transfer.ticket, at: hop.url.origin, now: notes.now)
            if transfer.request.gate != nil { hopping.append(transfer) }
        case .start: start(transfer)
        case .ask(let question):
            pondering[transfer.ticket.id] = transfer
            ask(question, for: transfer)
        case .wait: break
        case .proceed:
            // All of the body may have come while the hook pondered.
            if transfer.exchange.isComplete { return conclude(transfer, code: CURLE_OK, overdue: nil) }
            unpause(transfer.ticket.id)
        }
    }

    /// Gives back the handle and the place of a running transfer.
    private func leave(_ transfer: Transfer, abandoned: Bool) {
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
        scheduler.finish(transfer.ticket, of: host, abandonedLookup: isLookingUp, now: notes.now)
        switch transfer.leaveConnection() {
        case true?: scheduler.observe(host, now: notes.now)
        case false?: host.sendsExcess = true
        case nil: break
        }
    }

    private func detach(_ transfer: Transfer) {
        guard let handle = transfer.handle else { return }
        multi.remove(handle)
        if !transfer.endedCleanly { handle.forgetSetup() }
        transfer.handle = nil
        handle.context = nil
        idleHandles.append(handle)
    }
}
