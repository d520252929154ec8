import KFSystem

/// Passwords, and the answers to challenges for them.
extension Transfer {
    /// How a request proves its password.
    enum Proof {
        /// It has none, or sends none before the origin asks for it.
        case nothing
        /// libcurl sends it, by the Basic scheme.
        case basic(Credentials)
        /// The engine answers a challenge that the origin has made to any transfer, with this value of Authorization.
        case digest(String)
    }

    /// Decides how the request of the hop proves its password, and counts it for the origin.
    func proof() throws(TransferError) -> Proof {
        (hop.digest.nonce, hop.hasPassword, hop.hasSentPassword) = (nil, false, false)
        guard let password = try password(), takesPassword else { return .nothing }
        hop.hasPassword = true
        switch (notes.passwords[hop.url.origin], request.terms.options.authentication) {
        case (.digest?, _):
            let answer = notes.passwords.answer(
                password, to: hop.url.origin, method: request.method.name, target: hop.url.target)
            guard let answer, FieldText.isValue(answer.value) else {
                throw .invalidRequestHeader(name: "Authorization")
            }
            (hop.digest.nonce, hop.hasSentPassword) = (answer.nonce, true)
            return .digest(answer.value)
        case (_, .basic), (.basic?, .any):
            hop.hasSentPassword = true
            return .basic(password)
        default: return .nothing
        }
    }

    /// The user and the password of the URL, else of the options or the challenge hook. The netrc file has those that are
    /// missing. The engine answers challenges for Digest itself: libcurl's own answer is a request that no limit counts.
    private func password() throws(TransferError) -> Credentials? {
        let given = try (hop.url.text == hop.url.bare ? nil : hop.url.credentials) ?? hop.scope.credentials
        guard request.terms.options.netrcFile != nil, given?.password.isEmpty != false,
            let netrc = request.terms.options.netrcPath
        else { return given }
        return try notes.netrcs.credentials(in: netrc, of: hop.url.origin, user: given?.user) ?? given
    }

    /// Returns the outcome of a 401.
    func passwordWanted(_ head: ResponseHead, _ error: TransferError) -> Outcome {
        let challenges = PasswordChallenges(head.headers.all(.wwwAuthenticate))
        let (origin, method) = (hop.url.origin, request.terms.options.authentication)
        if challenges.wantsDigest, challenges.digest == nil { notes.passwords.bar(origin) }
        guard takesPassword, let (scheme, realm) = challenges.best else { return .answer(.failure(error)) }
        if let challenge = challenges.digest {
            notes.passwords.note(challenge, origin)
            if let next = hop.answering(challenge) { return .follow(next) }
            hop.digest.challenge = challenge.nonce
        } else {
            // Only challenges for Digest are answered.
            if method == .digest { return .answer(.failure(error)) }
            notes.passwords.noteBasic(origin)
            if case .unknownDigest? = notes.passwords[origin], method == .any { return .answer(.failure(error)) }
            if !hop.hasSentPassword, hop.hasPassword { return .follow(hop) }
        }
        return ask(.password(realm: realm), .password, scheme: scheme, instead: error)
    }

    /// Whether the hop can send a password. A signature or a header of the caller's own takes its place.
    private var takesPassword: Bool {
        request.signing == nil && !hop.scope.headers.contains { $0.name.lowercased() == "authorization" }
    }
}
