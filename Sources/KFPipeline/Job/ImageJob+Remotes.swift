import KFNetwork
import KFRemote
import KFStorage
import KFSystem
import KFTerms

/// The remotes: asked before the source, and told of what came from it.
extension ImageJob {
    /// Whether the remotes are asked for the image.
    var asksRemotes: Bool {
        let (hasAsked, retrieval) = state.withLock { ($0.hasAskedRemotes, $0.retrieval) }
        return !hasAsked && retrieval.asksRemotes
    }

    /// Asks the remotes for the images of jobs. Returns the jobs whose sources are to be asked.
    static func askRemotes(_ jobs: [ImageJob]) -> [ImageJob] {
        // Alternatives have the same caches.
        guard jobs.contains(where: { $0.asked.originals.remotes != nil }) else { return jobs }
        var reads: [RemoteRead] = []
        var works: [any StoreWork] = []
        var others: [ImageJob] = []
        for job in jobs where !job.isCancelled {
            let (hasAsked, retrieval) = job.state.withLock { state in
                defer { state.hasAskedRemotes = true }
                return (state.hasAskedRemotes, state.retrieval)
            }
            guard !hasAsked, retrieval.asksRemotes, let remotes = retrieval.originals.remotes else {
                if !hasAsked { retrieval.noteNotAsked() }
                others.append(job)
                continue
            }
            let read = RemoteRead(job, remotes)
            switch read.table.join(read, job) {
            case .started: reads.append(read)
            case .late(let answer): works.append(answer.joined(by: job))
            case .joined, .left: break
            }
        }
        Turn.run { turn in works += reads.filter { !$0.ask(&turn) } }
        StoreWorkers.shared.add(works)
        return others
    }

    /// Continues a job that no remote has an image for.
    func missed(_ turn: inout Turn) {
        let retrieval = self.retrieval
        guard retrieval.options.onlyFromCache else { return turn.jobs.append(self) }
        if makesVariants, let stale = asking.stale {
            return serveVariants(stale, retrieval.absence(stale.entry, now: retrieval.now))
        }
        do throws(KingfisherError) {
            let decision = retrieval.withoutRequest(asking.stale, retrieval.now)
            try serveWithoutRequest(decision, &turn)
        } catch {
            fail(error, &turn)
        }
    }

    // MARK: Uploads

    /// Uploads what a job has stored, if it came from its origin or was made here.
    func share(_ draft: Draft) {
        let (retrieval, way) = (draft.ending.retrieval, draft.ending.way)
        var isMade = !draft.ending.parts.isEmpty
        if case .processed = draft.ending.content { isMade = true }
        guard let uploads = retrieval.originals.remotes?.uploads, way != .remote || isMade, way != .stale,
            way != .pinned, retrieval.isShareable, !draft.ending.body.isPersonal, let origin = draft.ending.origin
        else { return }
        let response = draft.ending.facts.response
        if let bar = origin.headers.sharingBar {
            let (url, reason) = response?.sharingBar ?? (retrieval.source.name, bar)
            return uploads.log.noteNotUploaded("\(url) \(reason); such images are not uploaded to remotes")
        }
        let (replaces, members) = state.withLock { ($0.replacesInRemote, $0.membersInRemote) }
        var terms = RemoteUpload.Terms(replaces: replaces)
        switch way {
        case .fetched: terms.origin = response?.nearest ?? (.machine, retrieval.source.name)
        case .revalidated:
            terms.origin = response?.nearest ?? (.machine, retrieval.source.name)
            terms.isKnown = true
        default: terms.original = retrieval.original
        }
        // Only the wanted images are shared among those that were confirmed with the stale entry.
        let body = draft.ending.body
        let confirmed = draft.ending.renewals.dropFirst()
        let wanted = confirmed.isEmpty ? [] : ([retrieval] + variants).map(\.target)
        var shared: [RemoteUpload] = []
        draft.forEachStore { place in
            // A remote that an image came from has the original.
            guard case .success(let file?)? = body.outcome(of: place), way != .remote || place != draft.ending.original,
                wanted.contains(file.entry.key) || !confirmed.contains(place), body.isToBeShared(place)
            else { return }
            var entry = RemoteEntry(file.entry)
            if file.entry.key.isOriginal { entry.unknown = members ?? [] }
            shared.append(RemoteUpload(entry, file, terms, to: uploads))
        }
        uploads.add(shared, from: downloader)
    }
}

extension Retrieval {
    /// Whether the image may be shared with other machines: nothing about its request identifies a user.
    var isShareable: Bool {
        guard let url else { return false }
        let request = options.request
        return url.credentials == nil && request.isAnonymousButForTrust
            && !target.key.contains("#user=")
    }

    /// Whether the options allow that remotes are asked.
    package var mayAskRemotes: Bool {
        !isForced && !options.fromMemoryCacheOrRefresh && !options.offline && !asksOrigin && isShareable
    }

    /// Counts or reports an image for which no remote is asked.
    fileprivate func noteNotAsked() {
        guard let remotes = originals.remotes else { return }
        if mayAskRemotes {
            // They all rest or refuse.
            remotes.log.count(\.misses)
        } else if case .network = source, !isShareable {
            remotes.log.tellOnce(
                "images whose request may identify a user (credentials, cookies, headers) are not shared with remotes")
        }
    }

    /// Whether a remote could be asked for the image now.
    var asksRemotes: Bool { originals.remotes.map { $0.isUp && mayAskRemotes } ?? false }

    /// Returns whether an entry of a remote is expired for this request.
    func isExpired(_ entry: RemoteEntry, at now: Timestamp) -> Bool {
        entry.isExpired(at: now) || (freshUntil(entry).map { $0 <= now } ?? false)
    }

    /// Whether an entry of a remote may be used for this request.
    package func accepts(_ entry: RemoteEntry) -> Bool {
        // Nothing proves what a remote has made an image from.
        if needsProof, entry.original != nil || pin?.matches(entry.object) == false { return false }
        return entry.size <= options.request.maxBytes && accepts(entry.freshness.map { HeaderLines($0) })
    }

    /// Returns the entry of a remote to use: the image itself, if it was made from the original that the remote has, or the
    /// original. `entries` are those of `keysOnDisk`, or only that of the original. An expired original is of use if its source can confirm it.
    package func choice(of entries: [RemoteEntry?]) -> (entry: RemoteEntry, key: EntryKey, isStale: Bool)? {
        let now = self.now
        if entries.count == 2, let image = entries[0], !isExpired(image, at: now), let source = image.original,
            entries[1].map({ $0.object == source }) ?? true
        {
            return (image, target, false)
        }
        guard let found = entries.last ?? nil, found.original == nil else { return nil }
        let isStale = isExpired(found, at: now)
        // Without a validator the origin sends the image again in any case; and without an origin, it serves as it is.
        if isStale {
            let isOfUse = options.onlyFromCache ? mayServeStale(found, now: now) : condition(of: found) != nil
            guard isOfUse, !options.cacheMemoryOnly else { return nil }
        }
        return (found, original, isStale)
    }

    /// Returns the facts of an image from a remote.
    func origin(of entry: RemoteEntry) -> OriginFacts { OriginFacts(entry, freshUntil: freshUntil(entry)) }

    /// Returns the end of freshness by the server's headers, where this request follows them and the writer of the entry
    /// did not; nil where the entry's own counts.
    private func freshUntil(_ entry: RemoteEntry) -> Timestamp? {
        // Under the server's headers, reads extend nothing.
        guard options.cachePolicy == .http, entry.extending != .none else { return nil }
        return HTTPFreshness(
            HeaderLines(entry.freshness), lastModified: entry.lastModified, received: entry.stored
        ).freshUntil
    }

    /// Whether both ask the remotes for the same on equal terms.
    func asksRemotes(like other: Retrieval) -> Bool {
        target == other.target && original == other.original && pin == other.pin && cache === other.cache
            && originals === other.originals
            && options.onlyFromCache == other.options.onlyFromCache
            && options.cacheMemoryOnly == other.options.cacheMemoryOnly
            && box.inspector == other.box.inspector && needsProof == other.needsProof
            && options.request.maxBytes == other.options.request.maxBytes && selectingHeaders == other.selectingHeaders
    }

    /// The request headers that an image may vary with; empty when the policy does not regard them.
    private var selectingHeaders: [String] {
        options.cachePolicy == .http ? options.request.sentHeaders.map { "\($0.name): \($0.value)" } : []
    }
}

extension RequestOptions {
    /// Whether no option identifies a user. Terms of trust do not, and are part of the key.
    fileprivate var isAnonymousButForTrust: Bool {
        hasNoAccount && prepared == nil && headers.allSatisfy { RequestField.isNeutral($0.name) }
    }
}

extension HeaderLines {
    /// The reason why a cache that several users share may not store the response (RFC 9111, 3); nil if it may.
    var sharingBar: String? {
        let control = CacheControl(all("cache-control"))
        if control.isPrivate { return "says Cache-Control: private" }
        if control.noStore { return "says Cache-Control: no-store" }
        return all("vary").contains { $0.split(separator: ",").contains { $0.contains("*") } } ? "says Vary: *" : nil
    }
}

extension ResponseFacts {
    /// The first of the redirects and the response that may not be shared, with the reason.
    fileprivate var sharingBar: (url: String, reason: String)? {
        for redirect in redirects {
            let bar = redirect.freshness.sharingBar ?? (redirect.givesCredentials ? "redirects with credentials" : nil)
            if let bar { return (RequestURL.redacted(redirect.url), bar) }
        }
        return freshness.sharingBar.map { (RequestURL.redacted(url), $0) }
    }

    /// The nearest network among the servers of the redirects and of the response, with the URL of that server. A server
    /// behind a proxy is as near as the address in its URL.
    fileprivate var nearest: RemoteUpload.Origin? {
        (redirects.map { ($0.url, $0.address) } + [(url, metrics.remoteAddress)]).map { url, address in
            // A host's name says nothing about its network; then the address decides.
            let named = (try? RequestURL(url)).flatMap { NetworkReach(host: String($0.hostName)) } ?? .internet
            return (min(named, NetworkReach(host: address) ?? .machine), RequestURL.redacted(url))
        }.min { $0.reach < $1.reach }
    }
}
