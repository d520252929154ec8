import KFImaging
import KFNetwork
import KFStorage
import Synchronization

/// One transfer for all of its waiters, from the modifier of its request to the check of its bytes.
///
/// `@unchecked Sendable`, because one thread at a time owns it: the caller's, the network thread, then a worker. The
/// queues between them hand it over. State that two threads may touch is atomic or has a lock.
final class ImageDownload: WorkInFlight, TransferSink, TransferGate, StoreWork, @unchecked Sendable {
    /// The end of the transfer, for the worker that continues.
    private enum End {
        case transfer(Result<TransferResponse, TransferError>)
        case failure(KingfisherError)
    }

    let site: DownloadSite
    private unowned let receiver: any TransferReceiver
    private let url: RequestURL
    let terms: DownloadTerms
    /// The condition of the request; nil for an unconditional one.
    private(set) var condition: RequestCondition?
    let isRetry: Bool
    private let store: BodyStore?
    private let tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    let delegate: (any ImageDownloaderDelegate)?
    let responder: (any AuthenticationChallengeResponsible)?
    /// What is looked for again when another process may have stored it.
    private let sought: Retrieval?
    private var claim: FlightClaim?
    private var request: PreparedRequest?
    private var sink: BodySink?
    private var isResuming = false
    /// The number of body bytes that the present transfer has received.
    private var received: Int64 = 0
    var reportsProgress = false
    private var end: End?
    /// The identifier of the present transfer; 0 when there is none.
    private let transferID = Atomic<UInt64>(0)
    private let started = Atomic(false)
    private let abandoned = Atomic(false)
    /// Whether another process has stored the image. Atomic, because a late decision may set it after a cancellation.
    private let isStored = Atomic(false)
    /// Whether the response belongs to this call alone.
    let isPersonal = Atomic(false)
    /// The size of the received body, in bytes; nil before its end.
    private(set) var size: Int64?

    init(
        _ key: DownloadKey, _ order: DownloadOrder, _ site: DownloadSite, receiver: any TransferReceiver,
        in table: WorkTable, for first: any WorkWaiter
    ) {
        self.site = site
        self.receiver = receiver
        url = order.url
        terms = order.terms
        condition = order.condition
        isRetry = order.isRetry
        tap = order.tap
        sought = order.place?.retrieval
        store = order.place.flatMap { $0.stores ? BodyStore(cache: $0.cache, key: $0.key) : nil }
        delegate = order.delegate
        responder = order.responder
        claim = order.place.flatMap { FlightClaim($0, order.terms.request) }
        super.init(.download(key), in: table, for: first)
    }

    deinit { if let size { site.backlog.change(bytes: -size, count: -1) } }

    var options: RequestOptions {
        _read { yield terms.request }
    }

    /// Whether the transfer has had its turn.
    var hasStarted: Bool { started.load(ordering: .relaxed) }

    /// Whether the transfer has started and not ended.
    var isRunning: Bool { hasStarted && transferID.load(ordering: .relaxed) != 0 }

    // MARK: Starting

    /// Returns the transfer to start now; nil if it must wait for something or has failed. Without `resumes`, the
    /// partial body of an earlier transfer is not continued.
    func begin(resumes: Bool = true) -> TransferStart? {
        if request == nil {
            if options.prepared == nil, options.modifier != nil {
                modify(resumes: resumes)
                return nil
            }
            request = options.request(to: url)
        }
        guard let request else { return nil }
        if let header = request.headers.first(where: { RequestField.isReserved($0.name) }) {
            fail(KingfisherError(transfer: .invalidRequestHeader(name: header.name)))
            return nil
        }
        if let rest = site.circuits.wait(for: request.url.host) {
            fail(.responseError(reason: .circuitOpen(host: request.url.host, secondsLeft: rest.roundedSeconds)))
            return nil
        }
        delegate?.imageDownloader(
            willDownloadImageFor: request.url, with: ImageDownloadRequest(url: request.url, headers: request.headers))
        if resumes, let store, store.cache.mayHavePartials {
            store.cache.blocking.submit { [self] in
                // If the partial body cannot be taken, the transfer starts from the first byte.
                let taken = Result { () throws(StorageError) in try store.take(terms.digest(of: url)) }
                var partial: (object: StagedObject, facts: PartialFacts)?
                if case .success(let found) = taken { partial = found }
                site.start([transfer(request, partial)])
            }
            return nil
        }
        return transfer(request, nil)
    }

    private func modify(resumes: Bool) {
        Task { [self] in
            do throws(KingfisherError) {
                request = try await options.modifiedRequest(to: url)
                guard table.isWanted(self) else { return fail(.requestError(reason: .taskCancelled)) }
                if let start = begin(resumes: resumes) { site.start([start]) }
            } catch {
                fail(error)
            }
        }
    }

    private func fail(_ error: KingfisherError) {
        end = .failure(error)
        StoreWorkers.shared.add([self])
    }

    private func transfer(
        _ request: PreparedRequest, _ partial: (object: StagedObject, facts: PartialFacts)?
    ) -> TransferStart {
        isResuming = partial != nil
        received = 0
        // Only the sink holds the file: if the whole body arrives instead, a new file replaces it.
        sink = BodySink(
            store, url: url.text, request: { [url, terms] in terms.digest(of: url) }, resumed: partial?.object, tap: tap
        )
        let resumption = partial.map {
            TransferRequest.Resumption(
                offset: $0.object.size, validator: $0.facts.validator, location: $0.facts.location,
                contentType: $0.facts.contentType, total: $0.facts.total)
        }
        let start = TransferStart(
            transferRequest(request, resumption), sink: self, receiver: receiver, token: self)
        transferID.store(start.id, ordering: .sequentiallyConsistent)
        return start
    }

    /// Whether no waiter is left.
    var isAbandoned: Bool { abandoned.load(ordering: .sequentiallyConsistent) }

    // Sequentially consistent, like the start: either this finds the transfer, or the start finds it abandoned.
    override func abandon() {
        abandoned.store(true, ordering: .sequentiallyConsistent)
        let id = transferID.load(ordering: .sequentiallyConsistent)
        if id != 0 { site.transport.cancel(id) }
    }

    override func change(priority: Float) {
        let id = transferID.load(ordering: .acquiring)
        if id != 0 { site.transport.prioritize(id, priority) }
    }

    // MARK: On the network's thread

    func enter() -> TransferAdmission {
        started.store(true, ordering: .relaxed)
        let admission = claim?.enter() ?? .open
        if case .later = admission { started.store(false, ordering: .relaxed) }
        return admission
    }

    func leave() { claim?.leave() }

    /// Looks for the image again, because another process may have stored it meanwhile. Blocks.
    func isStillMissing() -> Bool {
        let isCached = sought?.isCached ?? false
        isStored.store(isCached, ordering: .relaxed)
        return !isCached
    }

    func begin(_ head: ResponseHead) { sink?.begin(head) }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        received += Int64(bytes.count)
        claim?.hold?.note(bytes: received)
        try sink?.receive(bytes)
    }

    func ended(_ result: Result<TransferResponse, TransferError>) {
        transferID.store(0, ordering: .releasing)
        if let size { site.backlog.change(bytes: -size, count: -1) }
        size = if case .success(let response) = result { response.metrics.receivedBytes } else { nil }
        end = .transfer(result)
    }

    // MARK: On a worker

    func run(in batch: StoreBatch) {
        switch end {
        case .transfer(.success(let response)): arrived(response, batch)
        case .transfer(.failure(let error)): failed(error, batch)
        case .failure(let error): deliver(.failure(error), batch)
        case nil: break
        }
    }

    private func arrived(_ response: TransferResponse, _ batch: StoreBatch) {
        guard let request, let sink else { return }
        site.circuits.noteAnswer(from: request.url.host)
        let facts = ResponseFacts(response)
        func tellEnd(_ error: KingfisherError?) {
            delegate?.imageDownloader(didFinishDownloadingImageFor: request.url, with: facts, error: error)
        }
        let flight = claim?.hold
        claim?.leave()
        self.sink = nil
        // Waiters that joined late get at least this report.
        if !reportsProgress { table.report(received, received, of: self) }
        if response.head.status == 304 {
            tellEnd(nil)
            return deliver(.success(.unchanged(facts, flight)), batch)
        }
        do throws(KingfisherError) {
            let (bytes, findings) = try checked(sink, request.url, facts)
            tellEnd(nil)
            let image = DownloadedImage(
                bytes, findings, response: facts, url: request.url, isPersonal: isPersonal.load(ordering: .relaxed),
                flight: flight,
                orders: OrderBook(self))
            deliver(.success(.image(image)), batch)
        } catch {
            // The file goes now, not with the last reference: the process may end before that.
            letGo(sink, keeping: false)
            tellEnd(error)
            // The server may have sent the rest of another image, whatever its headers say.
            guard response.head.status == 206, error.isDamage else { return deliver(.failure(error), batch) }
            startAgain(resumes: false)
        }
    }

    private func failed(_ error: TransferError, _ batch: StoreBatch) {
        guard let request else { return }
        // No other transfer may continue a personal body.
        if let sink { letGo(sink, keeping: error.leavesBodyResumable && !isPersonal.load(ordering: .relaxed)) }
        sink = nil
        if isResuming, error.refusesRange { return startAgain(resumes: false, isNew: false) }
        // Another URL than the one that gave the validators answered, and its 304 is about other bytes.
        if condition != nil, case .unexpectedStatus(304) = error {
            condition = nil
            return startAgain(resumes: false, isNew: false)
        }
        note(error, request.url)
        claim?.leave()
        let failure = KingfisherError(transfer: error)
        let isStored = isStored.load(ordering: .relaxed)
        delegate?.imageDownloader(
            didFinishDownloadingImageFor: request.url, with: nil,
            error: isStored ? .requestError(reason: .taskCancelled) : failure)
        if isStored { return deliver(.success(.stored), batch) }
        if case .httpStatus(_, let head) = error {
            return deliver(
                .success(.refused(ResponseFacts(head), isPersonal: isPersonal.load(ordering: .relaxed))), batch)
        }
        deliver(.failure(failure), batch)
    }

    /// Starts the transfer again. With `isNew`, the delegate is notified of another transfer.
    private func startAgain(resumes: Bool, isNew: Bool = true) {
        end = nil
        guard let request else { return }
        let start = isNew ? begin(resumes: resumes) : transfer(request, nil)
        if let start { site.start([start]) }
    }

    private func deliver(_ result: Result<DownloadAnswer, KingfisherError>, _ batch: StoreBatch) {
        guard case .success(.image(let image)) = result else {
            return table.end(self, with: .download(result), in: batch)
        }
        table.deliver(.download(result), of: self, in: batch)
        image.release()
    }

    /// Returns the body if it is a whole image.
    private func checked(
        _ sink: BodySink, _ url: RequestURL, _ facts: ResponseFacts
    ) throws(KingfisherError) -> (PendingBytes, ImageInspector.Findings) {
        do throws(KingfisherError) {
            var bytes = try sink.finish()
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
    private func letGo(_ sink: BodySink, keeping keeps: Bool) {
        guard let store, sink.hasFile else { return }
        sink.end(keeping: keeps)
        if keeps { store.cache.makeRoom() }
    }
}
