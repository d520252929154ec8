/// Answers servers that want to know who asks, or cannot prove who they are. Kingfisher's
/// `AuthenticationChallengeResponsible`.
public protocol AuthenticationChallengeResponsible: AnyObject, Sendable {
    /// Names the user whom the responder answers for: it is part of the cache key of everything that the downloader
    /// brings, as a digest. An empty name stands for everybody.
    ///
    /// Nil, the default: an image that came only after the responder had given a credential, or trust, is given out and
    /// not cached.
    var cacheIdentity: String? { get }
    /// Asked once for each origin of a transfer.
    func answer(to challenge: DownloadChallenge) async -> DownloadChallengeAnswer
}

extension AuthenticationChallengeResponsible {
    public var cacheIdentity: String? { nil }
}

/// What a server, or the check of its certificate, asks.
public struct DownloadChallenge: Sendable, Equatable {
    /// What is asked.
    public enum Kind: Sendable, Equatable {
        /// Status 401, with the realm that the server names.
        case password(realm: String)
        /// A certificate that is not good, and why.
        case serverTrust(problem: String)
    }

    /// What is asked.
    public let kind: Kind
    /// With its port where that is not the scheme's own.
    public let host: String
}

/// What is done about a challenge.
public enum DownloadChallengeAnswer: Sendable {
    /// Ask again with these; no other host gets them.
    case useCredential(Credentials)
    /// Connect without checking the certificate.
    case trust
    /// As if nobody had been asked.
    case performDefaultHandling
}
