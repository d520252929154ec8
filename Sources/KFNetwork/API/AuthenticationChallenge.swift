/// A server that wants to know who asks, or that cannot prove who it is.
package struct AuthenticationChallenge: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// Status 401. The scheme is the strongest of those offered that can be used.
        case password(Scheme, realm: String)
        case certificate(TLSFailure)
        /// The server asked for a certificate of the client, and refused the request that came without one.
        case clientCertificate
    }

    package enum Scheme: Sendable, Equatable { case basic, digest }

    package enum Answer: Sendable {
        /// Ask again with these; only this origin gets them.
        case credentials(TransferOptions.Credentials)
        /// Connect to this origin without checking its certificate. Of use for `.certificate` only.
        case trust
        /// Show this certificate to this origin. Of use for `.clientCertificate` only.
        case certificate(ClientCertificate)
        /// End the transfer with `.cancelledByHook`.
        case cancel
        /// Leave the failure as it is.
        case reject
    }

    package let kind: Kind
    /// With the port where it is not the scheme's own.
    package let host: String
    /// Without user info.
    package let url: String
}
