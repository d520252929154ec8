import Glibc
import KFCore

/// A file that a run writes record by record, so that a killed process leaves whole records. One process writes it at a
/// time.
struct AppendedFile: ~Copyable {
    /// The size from which gathered records are written, in bytes.
    static let block = 1 << 16

    /// Only the owner may read a new file, since records hold URLs, which may be signed or hold passwords.
    private static let mode: mode_t = 0o600

    let path: String
    private let file: FileDescriptor
    /// The reason why records are missing; nil while none are.
    var problem: String?
    /// Whether what an earlier run has left is gone. What a shell has opened is its own.
    private var isEmptied: Bool

    /// Opens or creates the file. An earlier content stays until `append` or `empty`. `option` is the one that names the
    /// file.
    init(_ path: String, option: String) throws(UsageError) {
        file = try Self.open(path, option)
        isEmptied = OpenFileName.is(path)
        self.path = path
    }

    private static func open(_ path: String, _ option: String) throws(UsageError) -> FileDescriptor {
        guard !path.isEmpty, path != "-" else { throw UsageError(message: "\(option) needs the name of a file") }
        var flags = O_WRONLY | O_CREAT | O_APPEND | (OpenFileName.is(path) ? 0 : O_NOFOLLOW)
        while true {
            do throws(StorageError) {
                let file = try FileDescriptor.open(path, flags, mode: mode)
                if flock(file.raw, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return file }
            } catch .system(_, _, ELOOP) where flags & O_EXCL == 0 && path.withPath({ unlink($0) }) == 0 {
                // A link is replaced, as by every output. `unlink` fails where a folder on the way is a loop of links.
                flags |= O_EXCL
                continue
            } catch {
                throw UsageError(message: "\(option): cannot write \(path): \(error.reason)")
            }
            throw UsageError(message: "\(option): another process is writing \(path)")
        }
    }

    /// Returns whether a path and another one, or a `file:` URL, lead to the same regular file, or to the same new one. `-` is
    /// standard input.
    static func isSameFile(_ path: String, _ name: String) -> Bool {
        let other = LocalFileImageDataProvider.localPath(of: name)
        guard let own = stat(path, followingLinks: true) else {
            return NewFileID(path).map { $0 == NewFileID(other) } ?? false
        }
        var input = stat()
        let there = other != "-" ? stat(other, followingLinks: true) : fstat(0, &input) == 0 ? input : nil
        return own.isRegularFile && there.map { own.isSameFile(as: $0) } ?? false
    }

    /// Appends records, unless earlier ones are missing. Leaves none of them after a failure, so that the file ends with a
    /// whole record.
    mutating func append(_ bytes: [UInt8]) {
        guard problem == nil else { return }
        empty()
        do throws(StorageError) {
            let status = try file.status()
            do throws(StorageError) {
                try bytes.withBytes { bytes throws(StorageError) in try file.write(bytes) }
            } catch {
                if status.isRegularFile { ftruncate(file.raw, status.st_size) }
                throw error
            }
        } catch {
            problem = "\(path): \(error.reason)"
        }
    }

    mutating func empty() {
        if !isEmptied { ftruncate(file.raw, 0) }
        isEmptied = true
    }
}
