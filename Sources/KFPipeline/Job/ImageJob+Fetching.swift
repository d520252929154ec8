import KFImaging
import KFNetwork
import KFStorage
import KFTerms

/// Asking the sources.
extension ImageJob {
    /// Fetches from the sources of jobs, after the remotes. Equal requests share one transfer (single flight), and the new
    /// transfers start with one message to the engine.
    static func fetch(_ jobs: [ImageJob]) {
        var works: [any StoreWork] = []
        askRemotes(jobs.filter { !$0.endsAsKnown() }).forEachGroup(of: { $0.downloader }) { jobs in
            var starts: [TransferStart] = []
            starts.reserveCapacity(jobs.count)
            for job in jobs where !job.isCancelled {
                let retrieval = job.retrieval
                if let url = retrieval.url {
                    job.join(ImageDownload(job, url), &starts, &works)
                } else if case .provider(let provider) = retrieval.source {
                    ProviderRead.join(job, provider, &works)
                }
            }
            jobs[0].downloader.site.start(starts)
        }
        StoreWorkers.shared.add(works)
    }

    /// Waits for an equal transfer in flight, or for this one. Its request has been prepared.
    private func join(_ download: ImageDownload, _ starts: inout [TransferStart], _ works: inout [any StoreWork]) {
        if downloader.rests(self, for: download) { return }
        countAttempts(1)
        if let tell = download.terms.request.modifier?.onDownloadTaskStarted {
            tell(DownloadTask { [weak self] in self?.cancel() })
        }
        switch downloader.work.join(download, self, since: download.moment) {
        case .started: if let start = download.begin() { starts.append(start) }
        case .late(let answer): works.append(answer.joined(by: self, reportsSize: true))
        case .joined, .left: break
        }
    }

    /// Continues with the answer of a source. `work` is what the job shared with others.
    func arrived(_ answer: Answer, of work: WorkKey?, _ turn: inout Turn) {
        let (retrieval, asking) = state.withLock { ($0.retrieval, $0.asking) }
        let failed = { (error: KingfisherError) in Failure(error: error, work: work, asking: asking) }
        switch answer {
        case .body(let body):
            retrieval.forget(asking.answer)
            note(.source)
            do throws(KingfisherError) {
                // The filter has not judged the images of a remote before.
                if body.response == nil, let refusal = retrieval.refusal(of: body.originalMeasures) {
                    return fail(refusal, &turn)
                }
                try body.check(retrieval.pin)
                process(body, &turn)
            } catch {
                if body.entry == nil { return failedSource(failed(error), &turn) }
                // A remote that lies is as good as one that has nothing.
                state.withLock { $0.replacesInRemote = true }
                missed(&turn)
            }
        case .confirmed(let response, let body):
            retrieval.forget(asking.answer)
            guard let stale = asking.stale else {
                return fail(.responseError(reason: .invalidHTTPStatusCode(response.status)), &turn)
            }
            guard response.confirms(stale.entry.etag, stale.entry.lastModified) else {
                return askWhole(asking, &turn)
            }
            renew(stale, asking, response, body, &turn)
        case .stored:
            // The image was stored while this job waited for its turn. Without work it has joined nothing, and no request was made.
            if work == nil, !retrieval.isLocal { countAttempts(-1) }
            state.withLock { $0.timesStored += 1 }
            // The images were stored, and not their original.
            if makesVariants, !retrieval.keepsOriginal { return splitAgain() }
            lookAgain()
        case .images(let bodies, let others): split(bodies, others, &turn)
        case .absent(let isDamaged):
            state.withLock { $0.replacesInRemote = isDamaged }
            missed(&turn)
        case .imported(let members, let isDamaged):
            state.withLock { ($0.membersInRemote, $0.replacesInRemote) = (members, isDamaged) }
            lookAgain()
        case .refused(let error, let response, let flight, let isPersonal):
            var failure = failed(error)
            if !isPersonal { (failure.refusal, failure.flight) = (response, flight) }
            failedSource(failure, &turn)
        case .made(let body, let images): made(images, of: body, &turn)
        case .failed(let error): failedSource(failed(error), &turn)
        }
    }

    /// Ends a job for whose image the run has already asked, unless a cache has it. Returns false for any other.
    private func endsAsKnown() -> Bool {
        guard let answers = asked.options.answers else { return false }
        let retrieval = self.retrieval
        if let error = answers.sourceFailure(of: retrieval) {
            let failure = Failure(error: error, asking: asking)
            Turn.run { giveUp(failure, &$0) }
            return true
        }
        if makesVariants {
            let wanted = variants
            let known = wanted.compactMap { wanted in answers.answer(to: wanted)?.map { $0.known(to: wanted) } }
            guard known.count == wanted.count, let first = known.first else { return false }
            state.withLock { $0.results = known }
            Turn.run { $0.end(self, first) }
            return true
        }
        switch answers.answer(to: retrieval) {
        case .success(let image)?: Turn.run { $0.end(self, .success(image.known(to: retrieval))) }
        case .failure(let error)?: Turn.run { fail(error, &$0) }
        case nil: return false
        }
        return true
    }

    private func lookAgain() {
        if enter(.looking) { Self.look([self]) }
    }

    private func splitAgain() {
        let variants = self.variants
        guard enter(.looking) else { return }
        StoreWorkers.blocking.submit { self.split(variants) }
    }

    /// The failure of a source.
    private struct Failure: Sendable {
        let error: KingfisherError
        /// The response without an image, if it may be remembered, and the claim that keeps other processes from requesting
        /// the key until it is.
        var refusal: ResponseFacts?
        var flight: FlightHold?
        /// The work that the job shared with others.
        var work: WorkKey?
        let asking: Asking

        /// The time after which the response allows another request.
        var rest: Duration? {
            refusal.flatMap { RetryAfter.rest(status: $0.status, value: $0.header("retry-after")) }
        }

        /// Whether the host has refused the request for a limit.
        var isForLimit: Bool { refusal?.status == 429 || rest != nil }
    }

    /// Handles a failed source: the retry strategy decides first, then a stale entry may serve, then the next source is
    /// tried.
    private func failedSource(_ failure: Failure, _ turn: inout Turn) {
        if !failure.error.isCancellation, !failure.error.isCacheFailure, !failure.error.isLeftOut,
            let mirror = failure.asking.mirror(of: retrieval)
        {
            retrieval.options.request.onMirrorFailure?(mirror, failure.error)
            var next = failure.asking
            next.failedMirrors += 1
            if enter(.fetching(next)) { turn.jobs.append(self) }
            return
        }
        guard !failure.error.isCancellation, let strategy = retrieval.options.retryStrategy else {
            return decided(.stop, failure, &turn)
        }
        let context = context(failure.error)
        // This strategy never waits, so a list with many failures creates no tasks.
        if let strategy = strategy as? DelayRetryStrategy {
            // The transfer has waited for the host as long as it may.
            return decided(failure.isForLimit ? .stop : strategy.decide(context), failure, &turn)
        }
        decide({ await strategy.decide(context) }) { [self] decision in
            Turn.run { decided(decision, failure, &$0) }
        }
    }

    private func decided(_ decision: RetryDecision, _ failure: Failure, _ turn: inout Turn) {
        let retrieval = self.retrieval
        if case .retry(let delay) = decision {
            let rest = failure.rest ?? .zero
            retrieval.options.retryStrategy?.willRetry(context(failure.error), after: max(delay, rest))
            state.withLock { $0.retried += 1 }
            var again = failure.asking
            (again.failedMirrors, again.moment) = (0, nil)
            guard enter(.fetching(again)) else { return }
            return turn.rests.append(RestQueue.Wish(job: self, span: delay, work: failure.work))
        }
        retrieval.options.answers?.note(sourceFailure: failure.error, of: retrieval)
        guard let refusal = failure.refusal,
            let answer = retrieval.order(refusal, failure.error, replacing: failure.asking.answer)
        else { return giveUp(failure, &turn) }
        // A list counts its failures while it runs, and closing the cache commits what is queued. Waiting for the
        // commit made a limit of 3 failures end after 180 requests instead of 9.
        let waits = !retrieval.options.batchesStores
        let order = StoreOrder(
            answer, in: retrieval.originals,
            .call { [self] _, turn in
                withExtendedLifetime(failure.flight) { if waits { giveUp(failure, &turn) } }
            })
        // With the turn, when the work has left the table: a call that follows the store cannot join that work.
        turn.beginStores(urgent: waits)
        turn.store(order)
        if !waits { giveUp(failure, &turn) }
    }

    private func context(_ error: KingfisherError) -> RetryContext {
        state.withLock { state in
            let userInfo = state.userInfo ?? RetryUserInfo()
            state.userInfo = userInfo
            return RetryContext(
                source: state.retrieval.source, error: error, retriedCount: state.retried, userInfo: userInfo)
        }
    }

    private func giveUp(_ failure: Failure, _ turn: inout Turn) {
        guard let stale = failure.asking.stale, failure.error.isOriginUnavailable else {
            return fail(failure.error, &turn)
        }
        if makesVariants { return serveVariants(stale, failure.error) }
        guard retrieval.mayServeStale(stale.entry, now: retrieval.now) else { return fail(failure.error, &turn) }
        serve(stale, .failure(failure.error), &turn)
    }

    /// Tries the next alternative source, or ends the job when all have failed.
    func fail(_ error: KingfisherError, _ turn: inout Turn) {
        let alternatives = asked.options.alternativeSources
        // No alternative replaces a cancelled request or an image that was left out, and a broken cache fails every source.
        if error.isCancellation || error.isCacheFailure || error.isLeftOut || alternatives.isEmpty {
            return turn.end(self, .failure(error))
        }
        let errors = state.withLock { state in
            state.errors.append(PropagationError(source: state.retrieval.source, error: error))
            return state.errors
        }
        guard errors.count <= alternatives.count else {
            return turn.end(self, .failure(.sourceError(reason: .alternativeSourcesExhausted(errors))))
        }
        let source = alternatives[errors.count - 1]
        start(with: source, asked.options.request.asking(source, insteadOf: asked.source))
    }
}
