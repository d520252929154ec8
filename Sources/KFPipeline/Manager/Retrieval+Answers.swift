import KFStorage
import KFTerms

/// Responses without an image. Under `CachePolicy.http` they are cached while they are fresh, like images (RFC 9111,
/// 3). With `negativeTimeToLive`, a 404 or 410 is under both policies. Such an entry has an empty object, beside the
/// images of the URL.
extension Retrieval {
    /// Returns the order to cache a response without an image; nil if it is not cacheable.
    func order(_ response: ResponseFacts, _ error: KingfisherError, replacing answer: Sight.Answer) -> Store? {
        guard remembersAnswers else { return nil }
        guard let facts = facts(ofAnswer: response, error, now: now) else {
            // This response replaces the cached one, and is not cacheable itself.
            forget(answer)
            return nil
        }
        let made = Result { () throws(KingfisherError) in try originals.order(.memory([]), answerKey, facts) }
        guard case .success(let order) = made else { return nil }
        return order
    }

    /// Removes the cached response without an image: the server has sent another response.
    func forget(_ answer: Sight.Answer) {
        if isLocal { return }
        if case .none = answer { return }
        originals.removeAnswer(answerKey)
    }

    /// Returns the error of a remembered refusal that is still fresh and that the options obey. `stale` is the expired
    /// image, if there is one.
    func refusal(_ answer: Sight.Answer, after stale: Entry?, now: Timestamp) -> KingfisherError? {
        guard case .entry(let answer) = answer, !answer.isExpired(at: now) else { return nil }
        // The image was stored later, so that the refusal is not the last response.
        if let stale, stale.created > answer.created { return nil }
        // One key may be given to several URLs, and a run asks each of them until one brings the image.
        if answer.url != (url?.text == target.key ? nil : url?.text), options.answers?.hasFailed(original) == true {
            return nil
        }
        let lines = HeaderLines(answer.freshness)
        let seconds = max(1, (answer.expires.since(now) + 999) / 1000)
        if lines.isLeftOut { return refusal(of: lines, secondsLeft: seconds) }
        return obeys(lines)
            ? .responseError(reason: .rememberedHTTPStatusCode(lines.status, secondsLeft: seconds)) : nil
    }

    /// Returns why an image that was left out is left out now as well. The answer has what was known of it, and not which
    /// options refused it.
    private func refusal(of lines: HeaderLines, secondsLeft seconds: Int64) -> KingfisherError? {
        if options.retryFailed || options.offline { return nil }
        if let header = options.optOut?.header(in: lines) {
            return .responseError(reason: .optedOut(header: header, secondsLeft: seconds))
        }
        guard let image = lines.measures, let detail = options.filter?.refusal(of: image) else { return nil }
        return .responseError(reason: .filtered(image, detail: detail, secondsLeft: seconds))
    }

    private func obeys(_ lines: HeaderLines) -> Bool {
        // Without requests a refusal makes no difference: the image is missing.
        guard !options.retryFailed, !options.offline else { return false }
        if options.cachePolicy == .http, !lines.isTimed { return true }
        return !isLocal && (options.negativeTimeToLive ?? .zero) > .zero && !options.onlyFromCache
            && ResponseStatus.isMissing(lines.status)
    }

    /// Returns the facts for the index about a response without an image, or one whose image was left out, as `error` says;
    /// nil if it is not remembered.
    func facts(ofAnswer response: ResponseFacts, _ error: KingfisherError, now: Timestamp) -> EntryFacts? {
        guard !options.cacheMemoryOnly, let url,
            let (end, isTimed) = error.isLeftOut
                ? endOfImage(response, now: now) : endOfRemembering(response, now: now)
        else { return nil }
        let lines = HeaderLines(freshness(of: OriginFacts(response, self, now: now))).leftOut(response, by: error)
        var facts = EntryFacts()
        facts.format = ImageCache.answerLabel
        facts.fileExtension = ImageCache.answerLabel
        facts.host = url.host
        facts.url = url.text == target.key ? nil : url.text
        facts.freshness = isTimed ? lines.timed.text : lines.isEmpty ? nil : lines.text
        facts.expiration = .date(end)
        facts.extending = .none
        return facts
    }

    /// Returns how long the image of a response would be fresh. Versions of kf that know no filter obey no such answer.
    private func endOfImage(_ response: ResponseFacts, now: Timestamp) -> (end: Timestamp, isTimed: Bool)? {
        let origin = OriginFacts(response, self, now: now)
        let end = renewal(by: origin, now: now).expiration.expiry(from: now)
        return mayStore(origin, now: now) && end > now ? (end, true) : nil
    }

    /// Returns how long a response without an image is remembered, and whether `negativeTimeToLive` says so.
    private func endOfRemembering(_ response: ResponseFacts, now: Timestamp) -> (end: Timestamp, isTimed: Bool)? {
        if options.cachePolicy == .http {
            let origin = OriginFacts(response, self, now: now)
            let freshness = HTTPFreshness(origin.headers, lastModified: origin.lastModified, received: now)
            guard freshness.isStorable else { return nil }
            if freshness.freshUntil > now { return (freshness.freshUntil, false) }
            if freshness.isExplicit { return nil }
        }
        guard let span = options.negativeTimeToLive?.milliseconds, span > 0, ResponseStatus.isMissing(response.status)
        else { return nil }
        return (now.advanced(by: span), true)
    }
}
