import Foundation

/// Larger collections of real and hostile images, which are not part of the repository. Tests that want one ask
/// whether it is there and are skipped, with `Corpora.absence` as the reason, when it is not.
package enum Corpora {
    /// `$KF_CORPORA`, else `shared/corpora` beside the package.
    package static let url: URL = {
        if let path = ProcessInfo.processInfo.environment["KF_CORPORA"], !path.isEmpty {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return PackageRoot.url.deletingLastPathComponent().appendingPathComponent("shared/corpora", isDirectory: true)
    }()

    package static let absence: String =
        "no such collection in \(url.path); set KF_CORPORA to the directory that holds it"

    package static func has(_ collection: String) -> Bool {
        var isDirectory: ObjCBool = false
        let path = url.appendingPathComponent(collection).path
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }

    /// The regular files of a collection, at any depth, sorted by path; none when it is absent.
    package static func files(_ collection: String) -> [URL] {
        let root = url.appendingPathComponent(collection)
        guard let names = FileManager.default.enumerator(atPath: root.path) else { return [] }
        return names.compactMap { $0 as? String }.sorted().map(root.appendingPathComponent).filter {
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: $0.path, isDirectory: &isDirectory) && !isDirectory.boolValue
        }
    }
}
