import KFStorage

/// Choosing between the representations of one URL (RFC 9111, 4.1). The first that comes is kept under the URL alone, so
/// that a URL without Vary costs one look-up; those for other request headers are kept beside it.
extension Retrieval {
    /// Whether the index may have more to say than the two places where the image usually is.
    var selects: Bool { options.cachePolicy == .http && !isLocal }

    /// The same retrieval, of the representation that answers its request by what is cached: `entries` are all those of
    /// its source. Where there is none, what comes will be kept beside what is there.
    func selecting(among entries: [Entry]) -> Retrieval {
        guard selects else { return self }
        var chosen = of(representation: nil)
        chosen.answer = entries.first { $0.key.isAnswer && accepts($0) }
        let base = entries.first { $0.key == chosen.original } ?? entries.first { $0.key == chosen.target }
        guard let base, !accepts(base) else {
            chosen.isBeside = false
            return chosen
        }
        let candidates = entries.filter { entry in
            guard let representation = entry.key.representation else { return false }
            let place = of(representation: representation)
            return (entry.key == place.target || entry.key == place.original) && accepts(entry)
        }
        // Of several that match, the last one that came (RFC 9111, 4).
        chosen = chosen.of(representation: candidates.max { $0.created < $1.created }?.key.representation)
        chosen.isBeside = true
        return chosen
    }

    /// The same retrieval, for the place where what came with a response is kept.
    func placed(by response: ResponseFacts?) -> Retrieval {
        guard isBeside, let response else { return self }
        return of(representation: VaryDigest.make(response.freshness, options.request))
    }

    /// Why nothing is to be asked for: the server has said a while ago that there is no image, and until when that holds.
    func refusal(now: Timestamp) -> KingfisherError? {
        guard let answer, !answer.isExpired(at: now) else { return nil }
        let status = HeaderLines(answer.freshness).status
        let seconds = max(1, (answer.expires.since(now) + 999) / 1000)
        return .responseError(reason: .rememberedHTTPStatusCode(status, secondsLeft: seconds))
    }

    /// What the index is to say of an answer without an image; nil when it is not to be remembered.
    func facts(ofAnswer response: ResponseFacts, now: Timestamp) -> EntryFacts? {
        guard selects, !options.cacheMemoryOnly, case .network(let resource) = source else { return nil }
        let origin = OriginFacts(response)
        let freshness = HTTPFreshness(origin.headers, lastModified: origin.lastModified, received: now)
        guard freshness.isStorable, freshness.freshUntil > now else { return nil }
        var facts = EntryFacts()
        facts.format = ImageCache.answerLabel
        facts.fileExtension = ImageCache.answerLabel
        facts.host = resource.downloadURL.host
        facts.url = resource.downloadURL.text == target.key ? nil : resource.downloadURL.text
        facts.freshness = self.freshness(of: origin)
        facts.expiration = .date(freshness.freshUntil)
        facts.extending = .none
        return facts
    }
}
