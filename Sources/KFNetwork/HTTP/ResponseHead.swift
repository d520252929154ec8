/// A response's status line and fields.
package struct ResponseHead: Sendable, Equatable {
    package let status: Int
    /// "HTTP/1.0", "HTTP/1.1" or "HTTP/2".
    package let protocolName: String
    /// The phrase behind the status; empty in HTTP/2.
    package let reason: String
    package let headers: HeaderFields
    package let framing: BodyFraming
    /// The address that answered, without user info.
    package let effectiveURL: String
    /// Redirects followed on the way there.
    package let redirects: Int

    package init(
        status: Int, protocolName: String = "HTTP/1.1", reason: String = "", headers: HeaderFields = HeaderFields(),
        framing: BodyFraming = .untilClose, effectiveURL: String = "", redirects: Int = 0
    ) {
        self.status = status
        self.protocolName = protocolName
        self.reason = reason
        self.headers = headers
        self.framing = framing
        self.effectiveURL = effectiveURL
        self.redirects = redirects
    }

    /// The length of the body as announced; nil when it was not, or when chunks say it.
    package var contentLength: Int64? {
        if case .length(let length) = framing { length } else { nil }
    }

    /// False when a body that broke off cannot be told from a whole one.
    package var isDelimited: Bool { framing != .untilClose }
}
