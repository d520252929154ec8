import Glibc
import KFImaging
import KFStorage
import KFSystem

package enum ImageFolder {
    /// The maximum depth of folders, and the maximum number of files.
    private static let (deepest, most) = (64, 1_000_000)

    package static func isFolder(_ path: String) -> Bool {
        stat(path, followingLinks: true)?.isDirectory ?? false
    }

    /// Returns the paths of the files with the extension of an image format, in the order of their names, at most a
    /// million. Leaves out hidden files and folders, and folders that are links.
    package static func files(in folder: String) -> [String] {
        var files: [String] = []
        collect(folder, depth: 0, &files)
        return files
    }

    private static func collect(_ folder: String, depth: Int, _ files: inout [String]) {
        // A folder that cannot be read has no files, as with a shell's patterns.
        let names = bestEffort { FileListing.names(in: try .open(folder, O_RDONLY | O_DIRECTORY)) } ?? []
        for name in names.sorted() where !name.hasPrefix(".") {
            guard files.count < most else { return }
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            guard let status = stat(path) else { continue }
            if status.isDirectory {
                if depth < deepest { collect(path, depth: depth + 1, &files) }
            } else if OutputName.format(of: name) != nil, stat(path, followingLinks: true)?.isRegularFile == true {
                // It can be read without waiting: no FIFO or device.
                files.append(path)
            }
        }
    }
}
