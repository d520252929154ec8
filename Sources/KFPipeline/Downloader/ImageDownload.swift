import KFImaging
import KFNetwork
import KFStorage
import KFTerms
import Synchronization

/// One transfer for all of its waiters, from the modifier of its request to the check of its bytes.
///
/// One thread at a time works on it: the caller's, the network thread, then a worker.
final class ImageDownload: SharedWork, TransferSink, TransferGate {
    /// The end of the transfer, for the worker that continues.
    private enum End {
        case transfer(Result<TransferResponse, TransferError>)
        case failure(KingfisherError)
    }

    private struct State {
        /// The condition of the request; nil for an unconditional one.
        var condition: RequestCondition?
        var claim: FlightClaim?
        var request: PreparedRequest?
        var body = ArrivingBody()
        var isResuming = false
        /// The number of body bytes that the present transfer has received.
        var received: Int64 = 0
        var reportsProgress = false
        var end: End?
        /// The number of requests of the transfers so far.
        var requests = 0
        /// Whether another process has stored the image.
        var isStored = false
        /// The size of the received body, in bytes; nil before its end.
        var size: Int64?
    }

    let url: RequestURL
    let terms: DownloadTerms
    /// The condition of the request, as long as its answers are of use.
    let condition: RequestCondition?
    let isForMirror: Bool
    /// Whether the retry strategy has asked for the transfer.
    let isRetry: Bool
    /// The answer to a host that refuses the request for a limit.
    let limits: TransferRequest.LimitHandling
    /// Called with the bytes as they arrive. A call with a tap has a transfer of its own.
    private let tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    /// The retrieval whose caches receive the image and have it if another process stores it first; nil if no cache takes
    /// part.
    let retrieval: Retrieval?
    /// The images that are made of it, if these are several.
    private let parts: [Retrieval]
    /// The moment of the look-up that missed, in the table of shared work; nil to fetch regardless of what has come since.
    let moment: UInt64?
    let delegate: (any ImageDownloaderDelegate)?
    let responder: (any AuthenticationChallengeResponsible)?
    /// Whether equal calls share the transfer.
    let isShared: Bool
    /// The text of the URL is hashed once, and not again when a table grows.
    let hash: Int
    let table: WorkTable
    let site: DownloadSite
    private unowned let receiver: any TransferReceiver
    private let store: BodyStore?
    private let tally: RunTally?
    private let state: Mutex<State>
    /// The highest priority of the waiters, as bits.
    private let priority: Atomic<UInt32>
    /// The identifier of the present transfer; 0 when there is none.
    private let transferID = Atomic<UInt64>(0)
    private let started = Atomic(false)
    private let abandoned = Atomic(false)
    /// Whether the response belongs to this call alone.
    let isPersonal = Atomic(false)

    /// Creates a transfer for a waiter with these wishes. Its table has it once it has joined. `commits` is the number of
    /// commits by other processes when the look-up missed; nil to fetch regardless of later commits.
    init(
        _ url: RequestURL, _ terms: DownloadTerms, _ wish: Wish, from downloader: ImageDownloader,
        for retrieval: Retrieval? = nil, parts: [Retrieval] = [], condition: RequestCondition? = nil,
        isForMirror: Bool = false, isRetry: Bool = false, limits: TransferRequest.LimitHandling = .end,
        commits: Int64? = nil, moment: UInt64? = nil, tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    ) {
        (self.url, self.terms, self.condition, self.isForMirror) = (url, terms, condition, isForMirror)
        (self.isRetry, self.retrieval, self.moment, self.tap) = (isRetry, retrieval, moment, tap)
        (self.limits, self.parts) = (limits, parts)
        isShared = tap == nil && terms.request.redirectHandler.map { $0.cacheIdentity != nil } ?? true
        hash = url.hashValue
        (delegate, responder) = (downloader.delegate, downloader.authenticationChallengeResponder)
        (table, site, receiver) = (downloader.work, downloader.site, downloader)
        store = retrieval.flatMap { BodyStore($0) }
        tally = retrieval?.options.tally
        priority = Atomic(wish.priority.bitPattern)
        state = Mutex(
            State(
                condition: condition, claim: retrieval.flatMap { FlightClaim($0, commits) },
                reportsProgress: wish.progress != nil))
    }

    deinit { leaveRoom() }

    /// Gives the place of the body among those that are not stored yet to others.
    private func leaveRoom() {
        if let size = state.withLock({ $0.size.take() }) { site.backlog.change(bytes: -size, count: -1) }
    }

    var key: WorkKey { .download(self) }
    var requests: Int { state.withLock { $0.requests } }

    var waitsToStart: Bool { !started.load(ordering: .relaxed) }

    var isRunning: Bool { !waitsToStart && transferID.load(ordering: .relaxed) != 0 }

    // MARK: Starting

    /// Returns the transfer to start now; nil if it must wait for something or has failed. Without `resumes`, the
    /// partial body of an earlier transfer is not continued.
    func begin(resumes: Bool = true) -> TransferStart? {
        var known = state.withLock { $0.request }
        if known == nil {
            if terms.request.prepared == nil, terms.request.modifier != nil {
                modify(resumes: resumes)
                return nil
            }
            known = terms.request(to: url)
            state.withLock { $0.request = known }
        }
        guard let request = known else { return nil }
        if let header = request.scope.headers.first(where: { RequestField.isReserved($0.name) }) {
            fail(KingfisherError(transfer: .invalidRequestHeader(name: header.name)))
            return nil
        }
        delegate?.imageDownloader(
            willDownloadImageFor: request.url,
            with: ImageDownloadRequest(url: request.url, headers: request.scope.headers))
        if resumes, let store, store.cache.mayHavePartials {
            store.cache.blocking.submit { [self] in
                // If the partial body cannot be taken, the transfer starts from the first byte.
                let partial = bestEffort { try store.partial(of: terms.digest(of: url)) } ?? nil
                site.start([transfer(request, partial)])
            }
            return nil
        }
        return transfer(request, nil)
    }

    private func modify(resumes: Bool) {
        Task { [self] in
            do throws(KingfisherError) {
                let request = try await terms.request.modifiedRequest(to: url)
                guard table.isWanted(self) else { return fail(.requestError(reason: .taskCancelled)) }
                state.withLock { $0.request = request }
                if let start = begin(resumes: resumes) { site.start([start]) }
            } catch {
                fail(error)
            }
        }
    }

    private func fail(_ error: KingfisherError) {
        state.withLock { $0.end = .failure(error) }
        StoreWorkers.shared.add([self])
    }

    private func transfer(
        _ request: PreparedRequest, _ partial: (object: StagedObject, facts: PartialFacts)?
    ) -> TransferStart {
        let resumption = partial.map {
            TransferRequest.Resumption(
                offset: $0.object.size, validator: $0.facts.validator, location: $0.facts.location,
                contentType: $0.facts.contentType, total: $0.facts.total)
        }
        let (condition, reportsProgress) = state.withLock { state in
            // Only the body holds the file: if the whole body arrives instead, a new file replaces it.
            (state.isResuming, state.received, state.body) = (
                partial != nil, 0, ArrivingBody(continuing: partial?.object)
            )
            return (state.condition, state.reportsProgress)
        }
        let priority = Float(bitPattern: priority.load(ordering: .relaxed))
        let start = TransferStart(
            transferRequest(request, resumption, condition, reportsProgress, priority), sink: self, receiver: receiver,
            token: self)
        transferID.store(start.id, ordering: .sequentiallyConsistent)
        return start
    }

    /// Whether no waiter is left.
    var isAbandoned: Bool { abandoned.load(ordering: .sequentiallyConsistent) }

    // Sequentially consistent, like the start: either this finds the transfer, or the start finds it abandoned.
    func abandon() {
        abandoned.store(true, ordering: .sequentiallyConsistent)
        let id = transferID.load(ordering: .sequentiallyConsistent)
        if id != 0 { site.transport.cancel(id) }
    }

    func change(priority: Float) {
        self.priority.store(priority.bitPattern, ordering: .relaxed)
        let id = transferID.load(ordering: .acquiring)
        if id != 0 { site.transport.prioritize(id, priority) }
    }

    // MARK: On the network's thread

    func enter() -> TransferAdmission {
        started.store(true, ordering: .relaxed)
        let admission = state.withLock { $0.claim?.enter() ?? .open }
        switch admission {
        case .open, .later:
            let isLater = if case .later = admission { true } else { false }
            // Another URL of the key has been fetched since the look-up missed. To find the image, no claim is needed; but if
            // it is not found, the transfer starts beside the one that has the claim.
            if let moment, let store, table.hasStored(store.key, since: moment, isKnown: isLater) { return .undecided }
            if isLater { started.store(false, ordering: .relaxed) }
        case .undecided, .ended: break
        }
        return admission
    }

    func stored() { table.end(self, stored: store?.key) }

    func leave() {
        started.store(false, ordering: .relaxed)
        state.withLock { $0.claim?.leave() }
    }

    /// Looks for the image again, because it or an answer without it may have been stored meanwhile. Blocks.
    func isStillMissing() -> Bool {
        let isMissing = parts.isEmpty ? retrieval?.isMissing ?? true : parts.contains { $0.isMissing }
        state.withLock { $0.isStored = !isMissing }
        return isMissing
    }

    func begin(_ head: ResponseHead) throws(SinkError) {
        if let refusal = refusal(of: head) { throw refusal }
        state.withLock { $0.body.begin(head, in: store) }
    }

    /// Returns the error that ends the transfer if the head of a response or of a redirect leaves the image out.
    func refusal(of head: ResponseHead) -> SinkError? {
        terms.inspector.refusal(of: head).map { error in state.withLock { $0.body.refuse(error, head) } }
    }

    func arrived(_ count: Int) { tally?.received(count) }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        tap?(bytes)
        try state.withLock { state throws(SinkError) in
            state.received += Int64(bytes.count)
            state.claim?.hold?.note(bytes: state.received)
            try state.body.receive(bytes, in: store, of: self)
            if terms.inspector.filter != nil { try state.body.judge(by: terms.inspector) }
        }
    }

    /// Notes the end of the transfer. Returns the size of the body, if there is one.
    func ended(_ result: Result<TransferResponse, TransferError>, requests: Int) -> Int64? {
        transferID.store(0, ordering: .releasing)
        let size: Int64? = if case .success(let response) = result { response.metrics.receivedBytes } else { nil }
        // A name whose lookup has just failed is an attempt as its lookup was.
        let requests = if case .failure(.resolve) = result { max(1, requests) } else { requests }
        let before = state.withLock { state in
            defer { (state.size, state.end, state.requests) = (size, .transfer(result), requests) }
            return state.size
        }
        if let before { site.backlog.change(bytes: -before, count: -1) }
        return size
    }

    // MARK: On a worker

    func run(_ turn: inout Turn) {
        let (end, request) = state.withLock { ($0.end.take(), $0.request) }
        switch (end, request) {
        case (.transfer(.success(let response)), let request?): arrived(response, request.url, &turn)
        case (.transfer(.failure(let error)), let request?): failed(error, request, &turn)
        case (.failure(let error), _): deliver(.failed(error), &turn)
        case (.transfer, nil), (nil, _): break
        }
    }

    /// `requested` is the URL after the request modifier.
    private func arrived(_ response: TransferResponse, _ requested: RequestURL, _ turn: inout Turn) {
        var facts = ResponseFacts(response)
        if isForMirror { facts.mirror = url.text }
        func tellEnd(_ error: KingfisherError?) {
            delegate?.imageDownloader(didFinishDownloadingImageFor: requested, with: facts, error: error)
        }
        let (flight, unreported) = state.withLock { state in
            defer { state.claim?.leave() }
            // Waiters that joined late get at least one report.
            return (state.claim?.hold, state.reportsProgress ? nil : state.received)
        }
        if response.head.status == 304 {
            tellEnd(nil)
            let body = Body(confirmedBy: self, flight: flight)
            table.deliver(.confirmed(facts, body), of: self, stays: true, &turn)
            return body.release()
        }
        do throws(KingfisherError) {
            var (bytes, findings) = try checked(requested, facts)
            if !response.head.isDelimited { findings = try terms.inspector.judge(undelimited: findings) }
            tellEnd(nil)
            Body(
                bytes, findings, of: self, response: facts, url: requested,
                isPersonal: isPersonal.load(ordering: .relaxed), flight: flight,
                room: state.withLock { $0.size.take() }.map { (site.backlog, bytes: $0) }
            ).deliver(of: self, reporting: unreported, &turn)
        } catch {
            // The file goes now, not with the last reference: the process may end before that.
            letGo(keeping: false)
            tellEnd(error)
            // The server may have sent the rest of another image, whatever its headers say.
            guard response.head.status == 206, error.isDamage else {
                return error.isLeftOut ? refused(error, facts, flight, &turn) : deliver(.failed(error), &turn)
            }
            if let start = begin(resumes: false) { site.start([start]) }
        }
    }

    private func failed(_ error: TransferError, _ request: PreparedRequest, _ turn: inout Turn) {
        let isPersonal = isPersonal.load(ordering: .relaxed)
        let refusal = state.withLock { $0.body.refusal }
        // No other transfer may continue a personal body.
        letGo(keeping: error.leavesBodyResumable && !isPersonal)
        let (isStored, isAgain, flight) = state.withLock { state -> (Bool, Bool, FlightHold?) in
            if state.isResuming, error.refusesRange { return (false, true, nil) }
            // Another URL than the one that gave the validators answered, and its 304 is about other bytes.
            if state.condition != nil, case .unexpectedStatus(304) = error {
                state.condition = nil
                return (false, true, nil)
            }
            defer { state.claim?.leave() }
            return (state.isStored, false, state.claim?.hold)
        }
        if isAgain { return site.start([transfer(request, nil)]) }
        if let (refusal, head) = refusal {
            delegate?.imageDownloader(
                didFinishDownloadingImageFor: request.url, with: ResponseFacts(head), error: refusal)
            return refused(refusal, ResponseFacts(head), flight, &turn)
        }
        let failure = KingfisherError(transfer: error)
        delegate?.imageDownloader(
            didFinishDownloadingImageFor: request.url, with: nil,
            error: isStored ? .requestError(reason: .taskCancelled) : failure)
        if isStored { return deliver(.stored, &turn) }
        if case .httpStatus(_, let head) = error {
            return refused(
                .responseError(reason: .invalidHTTPStatusCode(head.status)), ResponseFacts(head), flight, &turn)
        }
        deliver(.failed(failure), &turn)
    }

    private func refused(
        _ error: KingfisherError, _ response: ResponseFacts, _ flight: FlightHold?, _ turn: inout Turn
    ) {
        deliver(.refused(error, response, flight, isPersonal: isPersonal.load(ordering: .relaxed)), &turn)
    }

    /// Delivers an answer that brings nothing to store. It stays until all waiters have noted what it means.
    private func deliver(_ answer: Answer, _ turn: inout Turn) {
        leaveRoom()
        table.deliver(answer, of: self, stays: true, &turn)
        // The others of the key, which wait for this one, may look at once.
        if case .stored = answer { stored() } else { table.end(self) }
    }

    /// Returns the body if it is a whole image.
    private func checked(
        _ url: RequestURL, _ facts: ResponseFacts
    ) throws(KingfisherError) -> (PendingBytes, ImageInspector.Findings) {
        do throws(KingfisherError) {
            var bytes = try state.withLock { state throws(KingfisherError) in try state.body.close() }
            if let delegate {
                let data = try bytes.load()
                guard let changed = delegate.imageDownloader(didDownload: data, for: url) else {
                    throw .responseError(reason: .dataModifyingFailed)
                }
                if changed != data { bytes = .memory(changed) }
            }
            return (bytes, try bytes.checked(by: terms.inspector))
        } catch {
            throw error.naming(encoding: facts.encoding)
        }
    }

    /// Keeps or removes the partial body of a failed transfer.
    private func letGo(keeping keeps: Bool) {
        if state.withLock({ $0.body.end(keeping: keeps, in: store) }) { store?.cache.makeRoom() }
    }
}
