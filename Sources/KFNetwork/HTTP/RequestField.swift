/// What kf knows about request header fields. A field that is in none of these lists may hold a secret.
package enum RequestField {
    /// Fields that neither identify the requester nor, for images, select the content: RFC 9110 (10.1, 12.5, 7.6), RFC
    /// 9111 (5.2, 5.4), and tracing and privacy fields in common use.
    private static let neutral: Set<String> = [
        "user-agent", "referer", "from", "accept-language", "accept-encoding", "accept-charset", "cache-control",
        "pragma", "connection", "keep-alive", "te", "dnt", "sec-gpc", "upgrade-insecure-requests", "priority",
        "traceparent", "tracestate", "x-request-id", "x-correlation-id",
    ]

    /// Fields that select the content and hold no secret: the media types, client hints, and validators.
    private static let selecting: Set<String> = [
        "accept", "dpr", "width", "viewport-width", "viewport-height", "save-data", "device-memory", "downlink", "ect",
        "rtt", "if-none-match", "if-modified-since",
    ]

    /// Whether requests that differ in this field alone are answered with the same image.
    package static func isNeutral(_ name: String) -> Bool { neutral.contains(name.lowercased()) }

    /// Whether the field may be sent to another origin than the one that it was given for.
    package static func mayChangeOrigin(_ name: String) -> Bool {
        let name = name.lowercased()
        return neutral.contains(name) || selecting.contains(name) || name.hasPrefix("sec-ch-")
    }
}
