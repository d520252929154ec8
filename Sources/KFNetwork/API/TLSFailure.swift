/// Why a server's certificate was not accepted.
package enum TLSFailure: Sendable, Equatable {
    case expired, notYetValid, selfSigned, wrongHost, unknownAuthority, other
}
