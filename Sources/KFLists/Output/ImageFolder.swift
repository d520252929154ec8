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
    /// million. Leaves out hidden files and folders, folders that are links, caches that are marked as such
    /// (`CACHEDIR.TAG`), and `output`, the folder that the run writes to.
    package static func files(in folder: String, without output: String? = nil) -> [String] {
        var files: [String] = []
        collect(folder, depth: 0, without: output.flatMap { FileID($0) }, &files)
        return files
    }

    private static func isCache(_ folder: String) -> Bool {
        let bytes = bestEffort {
            try FileDescriptor.open("\(folder)/CACHEDIR.TAG", O_RDONLY | O_NONBLOCK).readAll(limit: 1 << 16)
        }
        return bytes?.starts(with: "Signature: 8a477f597d28d172789f06886806bc55".utf8) ?? false
    }

    private static func collect(_ folder: String, depth: Int, without output: FileID?, _ files: inout [String]) {
        // A folder that cannot be read has no files, as with a shell's patterns.
        let names = bestEffort { FileListing.names(in: try .open(folder, O_RDONLY | O_DIRECTORY)) } ?? []
        for name in names.sorted() where !name.hasPrefix(".") {
            guard files.count < most else { return }
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            guard let status = stat(path) else { continue }
            if status.isDirectory {
                guard depth < deepest, FileID(status) != output, !isCache(path) else { continue }
                collect(path, depth: depth + 1, without: output, &files)
            } else if OutputName.format(of: name) != nil, stat(path, followingLinks: true)?.isRegularFile == true {
                // It can be read without waiting: no FIFO or device.
                files.append(path)
            }
        }
    }
}

/// A file or folder, whatever its path.
package struct FileID: Hashable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }

    /// Nil for a path that leads to nothing.
    package init?(_ path: String) {
        guard let status = stat(path, followingLinks: true) else { return nil }
        self.init(status)
    }
}
