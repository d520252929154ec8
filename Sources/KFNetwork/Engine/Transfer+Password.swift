import KFSystem

/// Passwords, and the answers to challenges for them.
extension Transfer {
    /// How a request proves its password.
    enum Proof {
        /// It has none, or sends none before the origin asks for it.
        case nothing
        /// libcurl sends it, by the Basic scheme, or answers a challenge of its own with `usesDigest`.
        case basic
        /// The engine answers a challenge that the origin has made to any transfer, with this value of Authorization.
        case digest(String)

        var isNothing: Bool { if case .nothing = self { true } else { false } }
    }

    /// Decides how the request of the hop proves its password, and counts it for the origin.
    func proof() throws(TransferError) -> Proof {
        (hop.digest.nonce, hop.hasSentPassword) = (nil, true)
        guard mayHaveCredentials, takesPassword else { return .basic }
        let origin = hop.url.origin
        switch notes.passwords[origin] {
        case nil:
            hop.hasSentPassword = request.terms.options.authentication == .basic || hop.usesDigest
            return hop.hasSentPassword ? .basic : .nothing
        case .basic?: return .basic
        case .digest?:
            guard let credentials = hop.scope.credentials else {
                hop.usesDigest = true
                return .basic
            }
            let answer = notes.passwords.answer(
                credentials, to: origin, method: request.method.name, target: hop.url.target)
            guard let answer, FieldText.isValue(answer.value) else {
                throw .invalidRequestHeader(name: "Authorization")
            }
            hop.digest.nonce = answer.nonce
            return .digest(answer.value)
        }
    }

    /// Returns the outcome of a 401.
    func passwordWanted(_ head: ResponseHead, _ error: TransferError) -> Outcome {
        let challenges = PasswordChallenges(head.headers.all(.wwwAuthenticate))
        guard takesPassword, let (scheme, realm) = challenges.best else { return .answer(.failure(error)) }
        let (origin, method) = (hop.url.origin, request.terms.options.authentication)
        if let challenge = challenges.digest {
            notes.passwords.note(challenge, origin)
            if let next = hop.answering(challenge, mayHaveCredentials) { return .follow(next) }
            hop.digest.challenge = challenge.nonce
        } else if method != .digest {
            notes.passwords.noteBasic(origin)
            if !hop.hasSentPassword, mayHaveCredentials { return .follow(hop) }
        }
        return ask(.password(realm: realm), .password, scheme: scheme, instead: error)
    }

    /// Whether the hop can send a password. A signature or a header of the caller's own takes its place.
    private var takesPassword: Bool {
        request.signing == nil && !hop.scope.headers.contains { $0.name.lowercased() == "authorization" }
    }

    /// Whether credentials may exist. Those in the URL and in a netrc file are known only to libcurl.
    private var mayHaveCredentials: Bool {
        hop.scope.credentials != nil || request.terms.options.netrcFile != nil || hop.url.text != hop.url.bare
    }
}
