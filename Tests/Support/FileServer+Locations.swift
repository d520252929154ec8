/// Pieces of nginx configuration, for `FileServer(configuration:)`.
extension FileServer {
    package static let withoutETag = "etag off;"

    /// Answers with a status and a text.
    package static func answering(_ path: String, _ status: Int, _ body: String = "", type: String = "text/html")
        -> String
    {
        "location = \(path) { default_type \(type); return \(status) '\(body)'; }"
    }

    package static func redirecting(_ path: String, to target: String, status: Int = 302) -> String {
        "location = \(path) { return \(status) \(target); }"
    }

    /// Serves the files below a path no faster than this, after a first piece of about a buffer.
    package static func slowing(_ path: String, bytesPerSecond: Int) -> String {
        "location \(path) { limit_rate \(bytesPerSecond); }"
    }
}
