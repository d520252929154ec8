import CCurl

/// libcurl, which is loaded for the first transfer.
package enum CurlLibrary {
    /// The version of libcurl and of its TLS library, or the reason why it cannot be loaded. Loads it.
    package static func version() -> (version: String?, problem: String) {
        if let problem = kf_curl_load() { return (nil, String(cString: problem)) }
        return (String(cString: kf_curl_version()), "")
    }
}
