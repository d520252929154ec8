import Glibc
import KFImaging
import KFStorage
import KFSystem

/// A file that a user named for a result. A regular file is replaced as a whole or not at all, and keeps its mode and,
/// where that is allowed, its owner; a device, FIFO or socket is written through; a link is replaced, not followed.
struct OutputFile: ~Copyable {
    let path: String
    let file: FileDescriptor
    /// Where the bytes are until all are there; nil when they are written through.
    private let temporary: String?

    private init(path: String, file: consuming FileDescriptor, temporary: String?) {
        self.path = path
        self.file = file
        self.temporary = temporary
    }

    /// `isPrivate`: a file that was not there is readable by its owner alone, else as the umask says. Throws
    /// `outputFailed` (4002).
    static func open(_ path: String, isPrivate: Bool = false) throws(KingfisherError) -> OutputFile {
        var status = stat()
        let exists = path.withPath { lstat($0, &status) } == 0
        if exists, status.isDirectory { throw failure(path, "it is a directory") }
        do {
            if exists, !status.isRegularFile, status.st_mode & S_IFMT != S_IFLNK {
                return OutputFile(path: path, file: try .open(path, O_WRONLY), temporary: nil)
            }
            // Beside the file, but not named after it: a name may be as long as the system allows.
            let folder = path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[...$0]) } ?? ""
            let name = "\(folder).kf-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
            let isReplaced = exists && status.isRegularFile
            let file = OutputFile(
                path: path,
                file: try .open(name, flags, mode: isPrivate || isReplaced ? 0o600 : 0o666, shown: path),
                temporary: name)
            if isReplaced { try file.keepAccess(of: status) }
            return file
        } catch {
            throw failure(error)
        }
    }

    /// Gives the new file the mode of the one it replaces, and its owner and group where that is allowed.
    private borrowing func keepAccess(of status: stat) throws(StorageError) {
        var mode = status.st_mode & 0o777
        let own = try file.status()
        if own.st_gid != status.st_gid, fchown(file.raw, .max, status.st_gid) != 0 {
            // Another group than the one that the bits were meant for.
            mode &= ~0o070
        }
        if own.st_uid != status.st_uid { _ = fchown(file.raw, status.st_uid, .max) }
        try retry("fchmod", path) { fchmod(file.raw, mode) }
    }

    deinit {
        if let temporary { _ = temporary.withPath { unlink($0) } }
    }

    /// Puts what was written in place.
    consuming func commit() throws(KingfisherError) {
        guard let temporary else { return }
        guard temporary.withPath({ from in path.withPath { rename(from, $0) } }) == 0 else {
            throw Self.failure(path, describe(errno: errno))
        }
    }

    static func failure(_ error: StorageError) -> KingfisherError {
        if case .system(_, _, EPIPE) = error { return .processorError(reason: .outputClosed) }
        guard case .system(_, let path, let code) = error else {
            return .processorError(reason: .outputFailed(detail: error.message))
        }
        return failure(path, describe(errno: code))
    }

    private static func failure(_ path: String, _ detail: String) -> KingfisherError {
        .processorError(reason: .outputFailed(detail: "cannot write \(path): \(detail)"))
    }
}

/// Names for results in a directory. They never lead out of it.
package enum OutputName {
    /// A longer stem is cut; file names have 255 bytes.
    private static let longestStem = 100

    /// What a list calls an image, without the extension of a format: the copy has that of what it is.
    static func stem(_ name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        let ending = name[name.index(after: dot)...].lowercased()
        let isFormat = ending == "jpeg" || ImageFormat.allCases.contains { $0.fileExtension == ending }
        return isFormat ? String(name[..<dot]) : name
    }

    /// Whether the text can be a part of a file name as it is.
    package static func isSafe(_ text: String) -> Bool { !text.isEmpty && safe(text) == text }

    /// Letters, digits and what is harmless beside them; everything else, separators first, becomes `_`. Letters that
    /// cannot be seen are not harmless.
    static func safe(_ stem: String) -> String {
        var result = ""
        for scalar in stem.unicodeScalars {
            let isPlain =
                (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                    || "-_.+".unicodeScalars.contains(scalar)) && !scalar.properties.isDefaultIgnorableCodePoint
            let next: Unicode.Scalar = isPlain ? scalar : "_"
            if result.utf8.count + UTF8.width(next) > longestStem { break }
            result.unicodeScalars.append(next)
        }
        // By scalars: with an accent on it, a dot is another Character and the same byte.
        while result.unicodeScalars.first == "." { result.unicodeScalars.removeFirst() }
        return result.isEmpty ? "image" : result
    }
}

/// A directory that results are written into.
package enum OutputDirectory {
    /// Makes it when it is not there; the directory above it must be. Throws `outputFailed` (4002).
    package static func make(_ path: String) throws(KingfisherError) {
        if path.withPath({ mkdir($0, 0o777) }) == 0 { return }
        let code = errno
        var status = stat()
        if code == EEXIST, path.withPath({ stat($0, &status) }) == 0, status.isDirectory { return }
        let detail = code == EEXIST ? "it is not a directory" : describe(errno: code)
        throw .processorError(reason: .outputFailed(detail: "cannot write into \(path): \(detail)"))
    }
}
