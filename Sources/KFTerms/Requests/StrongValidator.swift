import KFNetwork
import KFStorage

/// The validator for resuming an interrupted body: one that changes with every byte (RFC 9110, 13.1.5).
package enum StrongValidator {
    /// Returns the ETag, or without an ETag the Last-Modified date. Returns nil if it is weak or appears more than
    /// once.
    package static func of(_ headers: HeaderFields, now: Timestamp) -> String? {
        let bytes = headers.bytes.span
        let tag = headers.find(.etag)
        // If there is an entity tag, a date must not replace it.
        if tag.count > 0 { return tag.count == 1 && isStrong(bytes.extracting(tag.first)) ? headers[.etag] : nil }
        let (modified, sent) = (headers.find(.lastModified), headers.find(.date))
        guard modified.count == 1, sent.count == 1,
            isOld(bytes.extracting(modified.first), bytes.extracting(sent.first), now)
        else { return nil }
        return headers[.lastModified]
    }

    /// Returns whether the tag is quoted, not empty, and has only ASCII characters without blanks and quotes.
    private static func isStrong(_ tag: Span<UInt8>) -> Bool {
        let (quote, last) = (UInt8(ascii: "\""), tag.count - 1)
        guard last > 1, tag[0] == quote, tag[last] == quote else { return false }
        return (1..<last).allSatisfy { tag[$0] > 0x20 && tag[$0] < 0x7f && tag[$0] != quote }
    }

    /// The minimum age of a strong date, in milliseconds. A date has a resolution of one second, and a file can change
    /// twice in one. A minute also covers clock differences (8.8.2.2).
    private static let margin: Int64 = 60_000

    private static func isOld(_ modified: Span<UInt8>, _ sent: Span<UInt8>, _ now: Timestamp) -> Bool {
        guard let modified = HTTPDate.parse(modified), let sent = HTTPDate.parse(sent) else { return false }
        return min(sent.since(modified), now.since(modified)) >= margin
    }
}

extension TransferError {
    /// Whether the same transfer may succeed later: it was interrupted, or the server could not be reached. After a
    /// definite response, or a refusal that more bytes do not change, the partial body is worthless.
    package var leavesBodyResumable: Bool {
        switch self {
        case .cancelled, .shutDown, .notAdmitted, .undecided, .maxTimeExceeded, .resolve, .connect, .connectTimeout,
            .tls, .proxy, .proxyStatus, .privateAddress, .environmentProxyRefused, .circuitOpen, .stalled, .truncated,
            .connectionLost, .streamEnded, .emptyReply, .protocolError, .libraryMissing, .engine:
            true
        case .httpStatus(let status, _): Self.passingStatuses.contains(status)
        case .invalidURL, .unsupportedScheme, .invalidRequestHeader, .tooManyRedirects, .insecureRedirect,
            .forbiddenRedirectScheme, .invalidRedirect, .redirectRefused, .cancelledByHook, .unexpectedStatus,
            .badHeaders, .contentEncoding, .encodingDamaged, .tooLarge, .sink:
            false
        }
    }

    /// Whether a server that refuses the rest of a body may still send all of it.
    package var refusesRange: Bool {
        switch self {
        case .contentEncoding, .unexpectedStatus, .badHeaders: true
        case .httpStatus(let status, _):
            !Self.passingStatuses.contains(status) && !Self.finalStatuses.contains(status)
        default: false
        }
    }

    /// Statuses of a server that is temporarily unable to respond.
    private static let passingStatuses: Set<Int> = [408, 425, 429, 502, 503, 504]
    /// Statuses that apply to the whole image, not only to a range.
    private static let finalStatuses: Set<Int> = [401, 404, 407, 410]
}
