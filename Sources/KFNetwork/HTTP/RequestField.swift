/// Properties of known request header fields. Any other field may hold a secret.
package enum RequestField {
    /// Fields that neither identify the requester nor, for images, select the content: RFC 9110 (10.1, 12.5, 7.6), RFC
    /// 9111 (5.2, 5.4), and tracing and privacy fields in common use.
    private static let neutral: Set<String> = [
        "user-agent", "referer", "from", "accept-language", "accept-encoding", "accept-charset", "cache-control",
        "pragma", "connection", "keep-alive", "te", "dnt", "sec-gpc", "upgrade-insecure-requests", "priority",
        "traceparent", "tracestate", "x-request-id", "x-correlation-id",
    ]

    /// Fields that select the content and hold no secret: the media types, and client hints.
    private static let selecting: Set<String> = [
        "accept", "dpr", "width", "viewport-width", "viewport-height", "save-data", "device-memory", "downlink", "ect",
        "rtt",
    ]

    /// Returns whether a caller may not set the field, because it asks for something other than the whole image. kf makes
    /// ranges and conditions of what it has.
    package static func isReserved(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "range" || name.hasPrefix("if-")
    }

    /// Returns whether requests that differ only in this field get the same image.
    package static func isNeutral(_ name: String) -> Bool { neutral.contains(name.lowercased()) }

    /// Returns whether the field may be sent to an origin other than that of the original request.
    package static func mayChangeOrigin(_ name: String) -> Bool {
        let name = name.lowercased()
        return neutral.contains(name) || selecting.contains(name) || name.hasPrefix("sec-ch-")
    }
}
