import KFSystem

/// The names of blobs below the root of a remote: `kf1/ac/ab/<64 hex>` and `kf1/cas/cd/<64 hex>`.
enum RemoteLayout {
    /// The folder of all blobs.
    static let root = "kf1/"

    enum Place {
        /// A folder of blobs, or of such folders.
        case folder
        /// A blob, with its path below `root`.
        case blob(Substring)
    }

    /// Returns what a path stands for; nil if it is not kf's, or for other files.
    static func place(_ path: String) -> Place? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 1, path.hasPrefix(root), CacheLayerRequest.Kind(rawValue: String(parts[1])) != nil else {
            return nil
        }
        switch parts.count {
        case 2: return .folder
        case 3: return parts[2].utf8.count == 2 && parts[2].utf8.allSatisfy(\.isLowercaseHex) ? .folder : nil
        default:
            let below = path.dropFirst(root.count)
            return CacheLayerBlob(path: below, bytes: 0) == nil ? nil : .blob(below)
        }
    }

    static func path(of kind: CacheLayerRequest.Kind, _ name: String) -> String {
        "kf1/\(CacheLayerRequest.path(of: kind, name))"
    }

    /// Returns the collections above a path, the uppermost first.
    static func collections(above path: String) -> [String] {
        let parts = path.split(separator: "/").dropLast()
        return parts.indices.map { parts[...$0].joined(separator: "/") }
    }
}
