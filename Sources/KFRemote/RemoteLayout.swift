import KFSystem

/// The names of blobs below the root of a remote: `kf1/ac/ab/<64 hex>` and `kf1/cas/cd/<64 hex>`.
enum RemoteLayout {
    static func path(of kind: CacheLayerRequest.Kind, _ name: String) -> String {
        "kf1/\(CacheLayerRequest.path(of: kind, name))"
    }

    /// Returns the collections above a path, the uppermost first.
    static func collections(above path: String) -> [String] {
        let parts = path.split(separator: "/").dropLast()
        return parts.indices.map { parts[...$0].joined(separator: "/") }
    }
}
