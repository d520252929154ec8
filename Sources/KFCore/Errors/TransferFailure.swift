/// Where a transfer failed, for code that decides what to do about it.
public enum TransferFailure: Sendable, Equatable {
    /// The name of the host could not be resolved.
    case dns
    /// No connection to the host, or to its proxy, could be made.
    case connection
    /// The TLS handshake failed, or the certificate is not trusted.
    case tls
    /// No connection was made in time, the server sent less than 1 KiB in `RequestOptions.timeout`, or the transfer took
    /// longer than `RequestOptions.maxTime`.
    case timeout
    /// The connection was lost before the whole body had come.
    case interrupted
    /// A redirect that is not followed: one too many, to another scheme, or refused by the redirect handler.
    case redirect
    /// The address, or the proxy that the environment names, is refused by `RequestOptions.deniesPrivateAddresses`.
    case privateAddress
    /// Anything else: an encoding that was not asked for, a header that cannot be sent, libcurl missing.
    case other
}
