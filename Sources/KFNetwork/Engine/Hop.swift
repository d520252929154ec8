import KFSystem

/// One request of a transfer: the first, one that follows a redirect, or one repeated with credentials.
struct Hop {
    var url: TransferURL
    /// The headers and secrets that the hop sends to the origin of its URL.
    var scope: OriginScope
    /// Whether there is a password for the request, and whether it was sent in some way.
    var hasPassword = false
    var hasSentPassword = false
    /// The state of the engine's own answers to challenges for Digest.
    var digest = DigestAnswers()
    /// Whether the server's certificate is accepted without verification.
    var isTrusted: Bool
    var via: [Redirect] = []
    /// The challenges about which the hook was asked. It is asked once about each origin and kind.
    var challenges: Set<Challenge> = []

    /// The number of repetitions that no retry strategy counts, see `Transfer.repetition`.
    var restarts = 0
    var wantsOwnConnection = false

    static let maxRestarts = 4

    struct DigestAnswers {
        /// The nonce in the request of the hop; nil without one.
        var nonce: String?
        /// The nonce of the last challenge to this transfer.
        var challenge: String?
        var count = 0
    }

    struct Challenge: Hashable {
        enum Subject { case password, trust, certificate }

        let subject: Subject
        let origin: Origin
    }

    init(url: TransferURL, _ start: TransferStart) {
        self.url = url
        let terms = start.request.terms
        scope = OriginScope(
            headers: start.request.headers,
            credentials: start.request.signing == nil ? terms.options.credentials : nil,
            clientCertificate: url.origin.isSecure ? terms.options.clientCertificate : nil)
        isTrusted = terms.trusts(url.origin.host)
    }

    /// Returns the hop that follows the redirect of this one.
    ///
    /// A secret that was left behind is not restored when a later redirect returns to the first origin: another server has
    /// chosen the path there.
    func following(to target: TransferURL, by redirect: Redirect, _ terms: TransferTerms) -> Hop {
        var next = self
        next.url = target
        next.via.append(redirect)
        next.restarts = 0
        next.wantsOwnConnection = false
        guard target.origin != url.origin else { return next }
        next.scope = scope.outside
        next.digest = DigestAnswers()
        next.isTrusted = terms.trusts(target.origin.host)
        return next
    }

    /// The number of challenges for Digest that a hop answers: the nonce may run out between the challenge and the answer.
    private static let mostDigestAnswers = 3

    /// Returns the same request with an answer to a challenge for Digest; nil if there is no password, or if the server
    /// has refused it.
    func answering(_ challenge: DigestChallenge) -> Hop? {
        guard hasPassword else { return nil }
        var next = self
        next.digest.challenge = challenge.nonce
        // A nonce of another transfer's challenge may be forgotten without a word about it.
        let isRefused = digest.nonce != nil && digest.nonce == digest.challenge && !challenge.isStale
        next.digest.count += 1
        return isRefused || next.digest.count > Self.mostDigestAnswers ? nil : next
    }

    /// Returns the same request for another try, or nil after `maxRestarts` of them.
    func restarted(anew: Bool) -> Hop? {
        guard restarts < Self.maxRestarts else { return nil }
        var next = self
        next.restarts += 1
        next.wantsOwnConnection = anew
        return next
    }

    /// Returns the request headers as lines for libcurl.
    static func headerLines(_ head: RequestHead, signing: AWSSigning?) throws(TransferError) -> [String] {
        var lines: [String] = []
        for (name, value) in head.headers {
            guard FieldText.isName(name), FieldText.isValue(value) else { throw .invalidRequestHeader(name: name) }
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        // Images are compressed already, and a body with a content coding cannot be resumed once decoded.
        if !head.headers.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
            lines.append("Accept-Encoding: identity")
        }
        if let resumption = head.resumption {
            guard FieldText.isValue(resumption.validator) else { throw .invalidRequestHeader(name: "If-Range") }
            lines.append("Range: bytes=\(resumption.offset)-")
            lines.append("If-Range: \(resumption.validator)")
        }
        // libcurl sends Expect with each body, and nginx answers it. 7.88 would sign the removal of a header.
        if head.method == .put, signing == nil { lines.append("Expect:") }
        if let token = signing?.sessionToken {
            guard FieldText.isValue(token) else { throw .invalidRequestHeader(name: "x-amz-security-token") }
            lines.append("x-amz-security-token: \(token)")
        }
        return lines
    }
}
