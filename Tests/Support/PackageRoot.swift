import Foundation

/// Where the package was checked out; tests find their files from there, wherever they run.
package enum PackageRoot {
    package static let url = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}
