import Foundation

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

    /// Takes what is PUT, as a WebDAV server that makes missing directories. Without it nginx answers PUT with 405.
    package static let storing = "dav_methods PUT MKCOL; create_full_put_path on; client_max_body_size 0;"

    /// Answers 401 to each request without this Basic authentication.
    package static func protecting(user: String, password: String) -> String {
        let credentials = Data("\(user):\(password)".utf8).base64EncodedString()
        return """
            if ($http_authorization != "Basic \(credentials)") { return 401; }
            add_header WWW-Authenticate 'Basic realm="kf"' always;
            """
    }

    /// An empty tree of its own that others may PUT into.
    package static func webDAV(_ configuration: String...) throws -> FileServer {
        try FileServer(files: TemporaryDirectory(), configuration: [storing] + configuration)
    }
}
