/// The names of blobs below the root of a remote.
enum RemoteLayout: String, Sendable {
    /// `kf1/ac/ab/<64 hex>` and `kf1/cas/cd/<64 hex>`.
    case kf1
    /// `ac/<64 hex>` and `cas/<64 hex>`, as Bazel's caches name them.
    case bazel

    func path(of kind: CacheLayerRequest.Kind, _ name: String) -> String {
        switch self {
        case .kf1: "kf1/\(CacheLayerRequest.path(of: kind, name))"
        case .bazel: "\(kind.rawValue)/\(name)"
        }
    }

    /// Returns the collections above a path, the uppermost first.
    static func collections(above path: String) -> [String] {
        let parts = path.split(separator: "/").dropLast()
        return parts.indices.map { parts[...$0].joined(separator: "/") }
    }
}
