/// The reason phrases of RFC 9110 and the registry, for messages: HTTP/2 sends none.
enum HTTPStatus {
    private static let phrases: [Int: String] = [
        201: "Created", 202: "Accepted", 204: "No Content", 205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
        407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        421: "Misdirected Request", 425: "Too Early", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
        503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]

    static func phrase(_ status: Int) -> String? { phrases[status] }

    /// `404 Not Found`; of a status that is not registered, the number alone.
    static func text(_ status: Int) -> String { phrase(status).map { "\(status) \($0)" } ?? "\(status)" }
}
