/// Answers the authentication challenges of servers. Kingfisher's `AuthenticationChallengeResponsible`.
public protocol AuthenticationChallengeResponsible: AnyObject, Sendable {
    /// The name of the user whose credentials the responder gives. Its digest is part of the cache key of everything that
    /// the downloader brings; an empty name stands for all users.
    ///
    /// With nil, the default, an image that needed the responder's credentials or trust is delivered and not cached.
    var cacheIdentity: String? { get }
    /// Returns the answer to a challenge. Called once for each origin of a transfer.
    func answer(to challenge: DownloadChallenge) async -> DownloadChallengeAnswer
}

extension AuthenticationChallengeResponsible {
    public var cacheIdentity: String? { nil }
}
