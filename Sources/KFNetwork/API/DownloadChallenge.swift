/// A server's request for credentials or a client certificate, or a server certificate that failed verification.
public struct DownloadChallenge: Sendable, Equatable {
    /// The kind of a challenge.
    public enum Kind: Sendable, Equatable {
        /// Status 401, with the realm from its WWW-Authenticate header.
        case password(realm: String)
        /// A server certificate that failed verification, with the reason.
        case serverTrust(problem: String)
        /// The server requested a client certificate and refused the request without one. To a server that also answers
        /// strangers, only ``TransferOptions/clientCertificate`` is presented.
        case clientCertificate
    }

    /// The authentication schemes that the engine can answer with a password.
    package enum Scheme: Sendable, Equatable { case basic, digest }

    /// The proof that the server asks for, or the problem with its certificate.
    public let kind: Kind
    /// The server's host, with the port unless it is the scheme's default.
    public let host: String
    /// The strongest authentication scheme that the server offers; nil unless `kind` is `.password`.
    package let scheme: Scheme?

    package init(_ kind: Kind, host: String, scheme: Scheme? = nil) {
        self.kind = kind
        self.host = host
        self.scheme = scheme
    }
}

/// The answer to a challenge.
public enum DownloadChallengeAnswer: Sendable {
    /// Send the request again with these credentials. They are not sent to other origins.
    case useCredential(Credentials)
    /// Connect to this origin without checking its certificate.
    case trust
    /// Present this certificate to this origin.
    case useClientCertificate(ClientCertificate)
    /// End the download with `cancelledByDelegate` (2006).
    case cancel
    /// Report the failure that caused the challenge.
    case performDefaultHandling
}

/// The decision of a delegate about a response.
public enum ResponseDisposition: Sendable {
    /// Receive the body.
    case allow
    /// Cancel the transfer with `cancelledByDelegate` (2006).
    case cancel
}

/// A certificate that authenticates the client to the server (mutual TLS). libcurl reads the files when it connects.
public struct ClientCertificate: Sendable, Hashable {
    /// The path of the certificate: PKCS#12 if the name ends in `.p12` or `.pfx`, else PEM.
    public let file: String
    /// The path of the private key, in PEM; nil when `file` contains the key.
    public let keyFile: String?
    /// The password of the private key.
    public let password: String?

    /// Creates a reference to the files; does not read them.
    public init(file: String, keyFile: String? = nil, password: String? = nil) {
        self.file = file
        self.keyFile = keyFile
        self.password = password
    }

    var isPKCS12: Bool {
        let name = file.lowercased()
        return name.hasSuffix(".p12") || name.hasSuffix(".pfx")
    }
}
