/// A server that asks for proof of identity, or whose certificate was refused.
public struct DownloadChallenge: Sendable, Equatable {
    /// What the server asks for, or what is wrong with its certificate.
    public enum Kind: Sendable, Equatable {
        /// Status 401, with the realm that the server names.
        case password(realm: String)
        /// A certificate that was refused, and the reason.
        case serverTrust(problem: String)
        /// The server asked for a client certificate and refused the request without one.
        case clientCertificate
    }

    /// The authentication schemes that the engine can answer with a password.
    package enum Scheme: Sendable, Equatable { case basic, digest }

    /// The kind of proof.
    public let kind: Kind
    /// The server's host, with the port unless it is the scheme's default.
    public let host: String
    /// The strongest scheme that the server offers; nil unless a password is asked for.
    package let scheme: Scheme?

    package init(_ kind: Kind, host: String, scheme: Scheme? = nil) {
        self.kind = kind
        self.host = host
        self.scheme = scheme
    }
}

/// The answer to a challenge.
public enum DownloadChallengeAnswer: Sendable {
    /// Send the request again with these credentials. Other origins do not get them.
    case useCredential(Credentials)
    /// Connect to this origin without checking its certificate.
    case trust
    /// Present this certificate to this origin.
    case useClientCertificate(ClientCertificate)
    /// End the download with `cancelledByDelegate` (2006).
    case cancel
    /// Leave the failure as it is.
    case performDefaultHandling
}

/// A certificate that authenticates the client to the server (mutual TLS). libcurl reads the files when it connects.
public struct ClientCertificate: Sendable, Equatable {
    /// The path of the certificate: PKCS#12 if the name ends in `.p12` or `.pfx`, otherwise PEM.
    public let file: String
    /// The path of the private key, in PEM; nil when `file` contains the key.
    public let keyFile: String?
    /// The password of the private key.
    public let password: String?

    /// Names the files without reading them.
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
