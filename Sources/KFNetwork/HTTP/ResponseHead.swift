/// A response's status line and fields. Copies share one object.
package struct ResponseHead: Sendable, Equatable {
    private final class Parts: Sendable {
        let status: Int
        let protocolName: String
        let reason: String
        let headers: HeaderFields
        let framing: BodyFraming
        let effectiveURL: String
        let redirects: Int

        init(
            status: Int, protocolName: String, reason: String, headers: HeaderFields,
            framing: BodyFraming,
            effectiveURL: String, redirects: Int
        ) {
            self.status = status
            self.protocolName = protocolName
            self.reason = reason
            self.headers = headers
            self.framing = framing
            self.effectiveURL = effectiveURL
            self.redirects = redirects
        }
    }

    private let parts: Parts

    package init(
        status: Int, protocolName: String = "HTTP/1.1", reason: String = "",
        headers: HeaderFields = HeaderFields(),
        framing: BodyFraming = .untilClose, effectiveURL: String = "", redirects: Int = 0
    ) {
        parts = Parts(
            status: status, protocolName: protocolName, reason: reason, headers: headers,
            framing: framing,
            effectiveURL: effectiveURL, redirects: redirects)
    }

    package var status: Int { parts.status }
    /// "HTTP/1.0", "HTTP/1.1" or "HTTP/2".
    package var protocolName: String { parts.protocolName }
    /// The phrase behind the status; empty in HTTP/2.
    package var reason: String { parts.reason }
    package var headers: HeaderFields { parts.headers }
    package var framing: BodyFraming { parts.framing }
    /// The address that answered, without user info.
    package var effectiveURL: String { parts.effectiveURL }
    /// Redirects followed on the way there.
    package var redirects: Int { parts.redirects }

    /// The length of the body as announced; nil when it was not, or when chunks say it.
    package var contentLength: Int64? {
        if case .length(let length) = framing { length } else { nil }
    }

    /// False when a body that broke off cannot be told from a whole one.
    package var isDelimited: Bool { framing != .untilClose }

    package static func == (left: ResponseHead, right: ResponseHead) -> Bool {
        left.parts === right.parts
            || left.status == right.status && left.protocolName == right.protocolName
                && left.reason == right.reason
                && left.headers == right.headers && left.framing == right.framing
                && left.effectiveURL == right.effectiveURL && left.redirects == right.redirects
    }
}
