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
        /// The server wants to see a certificate of the client, and has refused the request that came without one.
        case clientCertificate
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
    /// Show this certificate; no other host sees it.
    case useClientCertificate(ClientCertificate)
    /// End the download with `cancelledByDelegate` (2006).
    case cancel
    /// As if nobody had been asked.
    case performDefaultHandling
}

/// A certificate that authenticates the client to the server (mutual TLS). libcurl reads the files when a connection is made.
public struct ClientCertificate: Sendable, Equatable {
    /// The path of the certificate: PEM, or PKCS#12 where the name ends in `.p12` or `.pfx`.
    public let file: String
    /// The path of its key, PEM; nil when the certificate's file has the key too.
    public let keyFile: String?
    /// The key's password.
    public let password: String?

    /// Names the files; nothing is read yet.
    public init(file: String, keyFile: String? = nil, password: String? = nil) {
        self.file = file
        self.keyFile = keyFile
        self.password = password
    }
}
