import KFStorage

/// Tells requests apart that may be answered differently though their URL is the same.
enum RequestIdentity {
    /// Header fields that say who asks, or for what.
    private static let telling: Set<String> = ["authorization", "cookie", "accept"]

    /// What the key of a URL carries behind it: a digest of who asks, behind a sign that no normal form has; empty for
    /// everybody. The values themselves are secrets and are not in it.
    static func suffix(_ url: RequestURL, _ request: RequestOptions) -> String {
        var parts: [String] = []
        if let credentials = url.credentials ?? request.credentials {
            parts += [credentials.user, credentials.password]
        }
        if let netrc = request.netrcFile { parts += ["netrc", NetrcDigest.of(netrc)] }
        for header in request.headers where telling.contains(header.name.lowercased()) {
            parts += [header.name.lowercased(), header.value]
        }
        guard !parts.isEmpty else { return "" }
        var sha = SHA256()
        for part in ["kf credentials", url.host] + parts { sha.update("\(part)\0") }
        return "#user=\(sha.finish().hex.prefix(16))"
    }

    /// Of everything that may change the answer's bytes: two transfers of the same digest bring the same body, and one
    /// may take up where the other broke off.
    static func digest(_ url: RequestURL, _ request: RequestOptions) -> Digest {
        var sha = SHA256()
        sha.update("\(url.text)\0\(suffix(url, request))\0\(request.userAgent)\0")
        for header in request.headers { sha.update("\(header.name.lowercased())\0\(header.value)\0") }
        return sha.finish()
    }
}
