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
    private let file: Int32
    /// Whether what an earlier run has left is gone. What a shell has opened is its own.
    private var isEmptied: Bool

    /// Opens or creates the file. An earlier content stays until `append` or `empty`. It must not be one of the lists, of
    /// which `-` is standard input. `option` is the one that names the file.
    init(_ path: String, option: String, lists: [String]) throws(UsageError) {
        file = try Self.open(path, option, lists)
        isEmptied = OpenFileName.is(path)
        self.path = path
    }

    private static func open(_ path: String, _ option: String, _ lists: [String]) throws(UsageError) -> Int32 {
        guard !path.isEmpty, path != "-" else { throw UsageError(message: "\(option) needs the name of a file") }
        if let list = lists.first(where: { isSameFile(path, $0) }) {
            throw UsageError(message: "\(option) would overwrite the list \(list)")
        }
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (OpenFileName.is(path) ? 0 : O_NOFOLLOW)
        var file = Glibc.open(path, flags, mode)
        // A link is replaced, as by every output. `unlink` fails where a folder on the way is a loop of links.
        if file < 0, errno == ELOOP, unlink(path) == 0 { file = Glibc.open(path, flags | O_EXCL, mode) }
        guard file >= 0 else {
            throw UsageError(message: "\(option): cannot write \(path): \(String(cString: strerror(errno)))")
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            Glibc.close(file)
            throw UsageError(message: "\(option): another process is writing \(path)")
        }
        return file
    }

    /// Returns whether two paths lead to the same regular file. `-` is standard input.
    static func isSameFile(_ path: String, _ other: String) -> Bool {
        var (own, status) = (stat(), stat())
        guard stat(path, &own) == 0, own.st_mode & S_IFMT == S_IFREG else { return false }
        let isThere = (other == "-" ? fstat(0, &status) : stat(other, &status)) == 0
        return isThere && status.st_dev == own.st_dev && status.st_ino == own.st_ino
    }

    deinit { close(file) }

    /// Appends records. Returns the reason why they are missing; nil when they are written. Leaves none of them after a
    /// failure, so that the file ends with a whole record.
    mutating func append(_ bytes: [UInt8]) -> String? {
        empty()
        return bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    let reason = String(cString: strerror(errno))
                    remove(last: bytes.count - rest.count)
                    return "\(path): \(reason)"
                }
            }
            return nil
        }
    }

    /// Removes what an earlier run has left.
    mutating func empty() {
        if !isEmptied { ftruncate(file, 0) }
        isEmptied = true
    }

    private func remove(last count: Int) {
        var status = stat()
        guard count > 0, fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        ftruncate(file, status.st_size - off_t(count))
    }
}
