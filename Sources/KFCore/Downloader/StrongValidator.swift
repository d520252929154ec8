import KFNetwork
import KFStorage

/// The validator by which an interrupted body may be continued: one that changes with every byte (RFC 9110, 13.1.5).
enum StrongValidator {
    /// Of a response's ETag; without an ETag, its Last-Modified. Nil when neither is strong, or one is said twice.
    static func of(_ headers: HeaderFields, now: Timestamp) -> String? {
        let tags = headers.all("etag")
        // Where there is an entity tag, a date must not take its place.
        if let tag = tags.first { return tags.count == 1 && isStrong(tag) ? tag : nil }
        let modified = headers.all("last-modified")
        let sent = headers.all("date")
        guard modified.count == 1, sent.count == 1, isOld(modified[0], sent[0], now) else { return nil }
        return modified[0]
    }

    /// Quoted, without blanks, quotes or characters that are not ASCII in it, and not empty.
    private static func isStrong(_ tag: String) -> Bool {
        let bytes = tag.utf8
        guard bytes.count > 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") }
    }

    /// In milliseconds. A date counts whole seconds, and a file can change twice in one. A minute is what covers clocks
    /// that differ, too (8.8.2.2).
    private static let margin: Int64 = 60_000

    private static func isOld(_ modified: String, _ sent: String, _ now: Timestamp) -> Bool {
        guard let modified = HTTPDate.parse(modified), let sent = HTTPDate.parse(sent) else { return false }
        return min(sent.since(modified), now.since(modified)) >= margin
    }
}

extension TransferError {
    /// Whether the same transfer, continued later, may succeed: it broke off, or the server could not be asked. After a
    /// clear answer, or a refusal that more bytes do not change, nothing of the body is worth keeping.
    var leavesBodyResumable: Bool {
        switch self {
        case .cancelled, .shutDown, .notAdmitted, .undecided, .maxTimeExceeded, .resolve, .connect, .connectTimeout,
            .tls, .proxy,
            .proxyStatus,
            .privateAddress, .environmentProxyRefused, .stalled, .truncated, .connectionLost, .emptyReply,
            .protocolError, .libraryMissing, .engine:
            true
        case .httpStatus(let status, _): Self.passingStatuses.contains(status)
        case .invalidURL, .unsupportedScheme, .invalidRequestHeader, .tooManyRedirects, .insecureRedirect,
            .forbiddenRedirectScheme, .invalidRedirect, .redirectRefused, .cancelledByHook, .unexpectedStatus,
            .badHeaders, .conflictingLength, .contentRange, .contentEncoding, .encodingDamaged,
            .tooLarge, .sink:
            false
        }
    }

    /// Whether a server that refuses the rest of a body may still send all of it.
    var refusesRange: Bool {
        switch self {
        case .contentRange, .contentEncoding, .unexpectedStatus, .badHeaders, .conflictingLength: true
        case .httpStatus(let status, _):
            !Self.passingStatuses.contains(status) && !Self.finalStatuses.contains(status)
        default: false
        }
    }

    /// The server could not answer at the moment, whatever was asked for.
    private static let passingStatuses: Set<Int> = [408, 425, 429, 502, 503, 504]
    /// The image cannot be had, whichever part is asked for.
    private static let finalStatuses: Set<Int> = [401, 404, 407, 410]
}
