/// Why a transfer did not end well. `host` is the host of the hop that failed, with its port where that is not the
/// scheme's own.
package enum TransferError: Error, Sendable, Equatable {
    /// The task was cancelled, or waited for its turn when the engine was drained.
    case cancelled
    /// The engine was shut down.
    case shutDown

    // What was asked for.
    case invalidURL
    case unsupportedScheme(String)
    /// A header to be sent holds a line break or NUL, or has no proper name.
    case invalidRequestHeader(name: String)

    // The way there.
    case resolve(host: String)
    case connect(host: String, detail: String)
    case connectTimeout(host: String)
    case tls(TLSFailure, host: String, detail: String)
    case proxy(detail: String)
    /// The proxy would not make a tunnel to the host: 407 wants a password of us.
    case proxyStatus(Int)
    /// Under `denyPrivate`: an address that is not public.
    case privateAddress(host: String, address: String)
    /// Under `denyPrivate`: the environment names a proxy, the options do not.
    case environmentProxyRefused(variable: String)

    // Time.
    /// Less than 1 KiB came in that span.
    case stalled(host: String, after: Duration)
    case maxTimeExceeded(Duration)

    // Redirects.
    case tooManyRedirects(limit: Int)
    case insecureRedirect(host: String)
    case forbiddenRedirectScheme(String)
    case invalidRedirect
    /// The redirect hook would not follow.
    case redirectRefused(status: Int)

    // The hooks.
    /// The response hook did not want the body.
    case cancelledByHook
    /// The gate was closed.
    case notAdmitted
    /// A hook did not come to a decision in time.
    case undecided(after: Duration)

    // The answer's head.
    case httpStatus(Int, ResponseHead)
    /// A 206 or 304 that was not asked for.
    case unexpectedStatus(Int)
    case badHeaders(detail: String)
    case conflictingLength
    /// A 206 does not continue the body that is here.
    case contentRange(detail: String)
    case contentEncoding(String)
    /// What came does not decode as its Content-Encoding says.
    case encodingDamaged(String, detail: String)

    // The answer's body.
    case tooLarge(limit: Int64)
    /// `expected` is nil where no length was announced.
    case truncated(expected: Int64?, got: Int64)
    case connectionLost(detail: String)
    case emptyReply
    case protocolError(detail: String)

    // This side.
    case sink(SinkError)
    case libraryMissing(detail: String)
    case engine(detail: String)
}

extension TransferError {
    init(_ fault: HeadFault) {
        self =
            switch fault {
            case .malformed(let detail): .badHeaders(detail: detail)
            case .conflictingLength: .conflictingLength
            case .coding(let name): .contentEncoding(name)
            }
    }
}
