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

    /// A file in a folder, or a place of which the files are not known.
    package struct Member: Sendable {
        package let path: String
        /// The reason why there may be files at the path that are not listed; nil for a file.
        package var problem: String?
    }

    /// Returns the files with the extension of an image format, in the order of their names, at most a million. Leaves
    /// out hidden files and folders, folders that are links, caches that are marked as such (`CACHEDIR.TAG`), and
    /// `output`, the folder that the run writes to.
    package static func members(of folder: String, without output: String? = nil) -> [Member] {
        var members: [Member] = []
        collect(folder, depth: 0, without: output.flatMap { FileID($0) }, &members)
        if members.count > most {
            members.removeLast()
            members.append(Member(path: folder, problem: "only the first \(most) image files are taken"))
        }
        return members
    }

    private static func isCache(_ folder: String) -> Bool {
        let bytes = bestEffort {
            try FileDescriptor.open("\(folder)/CACHEDIR.TAG", O_RDONLY | O_NONBLOCK).readAll(limit: 1 << 16)
        }
        return bytes?.starts(with: "Signature: 8a477f597d28d172789f06886806bc55".utf8) ?? false
    }

    private static func collect(_ folder: String, depth: Int, without output: FileID?, _ members: inout [Member]) {
        do throws(StorageError) {
            guard depth <= deepest else {
                return members.append(Member(path: folder, problem: "more than \(deepest) folders deep"))
            }
            for name in try FileListing.allNames(in: try .open(folder, O_RDONLY | O_DIRECTORY)).sorted()
            where !name.hasPrefix(".") {
                if members.count > most { return }
                let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
                guard let status = stat(path) else {
                    // A file that was removed meanwhile is no loss; one in a folder that cannot be searched is.
                    let code = errno
                    if code == ENOENT { continue }
                    throw .system(call: "stat", path: path, errno: code)
                }
                if status.isDirectory {
                    if FileID(status) != output, !isCache(path) {
                        collect(path, depth: depth + 1, without: output, &members)
                    }
                } else if OutputName.format(of: name) != nil, stat(path, followingLinks: true)?.isRegularFile == true {
                    // It can be read without waiting: no FIFO or device.
                    members.append(Member(path: path))
                }
            }
        } catch {
            members.append(Member(path: folder, problem: "cannot read the directory: \(error.reason)"))
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

/// The place of a file that does not exist: its name in its folder.
package struct NewFileID: Hashable {
    private let folder: FileID
    private let name: String

    /// Nil for a path in a folder that does not exist.
    package init?(_ path: String) {
        let slash = path.unicodeScalars.lastIndex(of: "/")
        guard let folder = FileID(slash.map { String(path.unicodeScalars[...$0]) } ?? ".") else { return nil }
        self.folder = folder
        name = slash.map { String(path.unicodeScalars[$0...].dropFirst()) } ?? path
    }
}
