import Glibc
import KFImaging
import KFStorage
import KFSystem
import KFTerms

/// An output file.
///
/// A regular file is replaced as a whole or not at all; it keeps its mode and, if permitted, its owner. A device, FIFO
/// or socket is written directly. A symbolic link is replaced, not followed, unless it is a name of an open file, such as
/// `/dev/stdout`.
package struct OutputFile: ~Copyable {
    let path: String
    package let file: FileDescriptor
    /// The temporary file until the commit; nil if the bytes are written directly.
    private let temporary: String?

    /// Opens the output. With `isPrivate`, a new file is readable by its owner only, otherwise the umask applies.
    /// Throws `outputFailed` (4002).
    package static func open(_ path: String, isPrivate: Bool = false) throws(KingfisherError) -> OutputFile {
        let status = status(of: path)
        if let status, status.isDirectory { throw failure(path, "it is a directory") }
        do {
            if let status, OpenFileName.is(path) || !status.isRegularFile && !status.isLink {
                // A file that a shell opened for appending keeps its content.
                return OutputFile(path: path, file: try .open(path, O_WRONLY | O_APPEND), temporary: nil)
            }
            // In the same directory, and not named after the file: a name may have the maximum length already.
            let folder = path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[...$0]) } ?? ""
            let name = "\(folder).kf-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
            let replaced = status.flatMap { $0.isRegularFile ? $0 : nil }
            let file = OutputFile(
                path: path,
                file: try .open(name, flags, mode: isPrivate || replaced != nil ? 0o600 : 0o666, shown: path),
                temporary: name)
            if let replaced { try file.keepAccess(of: replaced) }
            return file
        } catch {
            throw failure(error, hint: !isPrivate)
        }
    }

    /// Returns whether a regular file, a directory or a link has the path.
    package static func exists(_ path: String) -> Bool {
        guard let status = status(of: path) else { return false }
        return status.isRegularFile || status.isDirectory || status.isLink
    }

    /// Returns the status of the file, link or device that an output replaces or writes to; nil when there is nothing.
    private static func status(of path: String) -> stat? {
        stat(path, followingLinks: OpenFileName.is(path))
    }

    /// Returns whether the path is a regular file with the size and the SHA-256. False for a file that cannot be read,
    /// which can still be replaced.
    package static func holds(_ path: String, size: Int64, sha256: String) -> Bool {
        guard let status = stat(path), status.isRegularFile, Int64(status.st_size) == size else { return false }
        let digest = bestEffort { try FileDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).digest() }
        return digest?.hex == sha256
    }

    /// Copies the mode of the replaced file, and its owner and group if permitted.
    private borrowing func keepAccess(of status: stat) throws(StorageError) {
        var mode = status.st_mode & 0o777
        let own = try file.status()
        if own.st_gid != status.st_gid, fchown(file.raw, .max, status.st_gid) != 0 {
            // The group bits were meant for another group.
            mode &= ~0o070
        }
        if own.st_uid != status.st_uid { _ = fchown(file.raw, status.st_uid, .max) }
        try retry("fchmod", path) { fchmod(file.raw, mode) }
    }

    deinit {
        if let temporary { _ = temporary.withPath { unlink($0) } }
    }

    /// Moves the temporary file into place. Without `replacing`, returns false if there is a file.
    @discardableResult
    package consuming func commit(replacing: Bool = true) throws(KingfisherError) -> Bool {
        guard let temporary else { return true }
        if !replacing {
            if temporary.withPath({ from in path.withPath { link(from, $0) } }) == 0 { return true }
            if errno == EEXIST { return false }
            // The file system has no hard links.
        }
        guard temporary.withPath({ from in path.withPath { rename(from, $0) } }) == 0 else {
            throw Self.failure(path, describe(errno: errno))
        }
        return true
    }

    /// Calls `body`, and gives its error as one of the output.
    package static func failing<Value: ~Copyable>(
        _ body: () throws(StorageError) -> sending Value
    ) throws(KingfisherError) -> sending Value {
        do { return try body() } catch { throw failure(error) }
    }

    /// `hint`: whether `--create-dirs` is an option for this file.
    package static func failure(_ error: StorageError, hint: Bool = false) -> KingfisherError {
        if case .system(_, _, EPIPE) = error { return .processorError(reason: .outputClosed) }
        guard case .system(_, let path, let code) = error else {
            return .processorError(reason: .outputFailed(detail: error.message))
        }
        let advice = hint && code == ENOENT ? "; --create-dirs creates missing directories" : ""
        return failure(path, describe(errno: code) + advice)
    }

    private static func failure(_ path: String, _ detail: String) -> KingfisherError {
        .processorError(reason: .outputFailed(detail: "cannot write \(path): \(detail)"))
    }
}

extension KingfisherError {
    /// Whether an output's file system has no room. The error has the text of its errno behind the path.
    package var isOfFullOutput: Bool {
        guard case .processorError(reason: .outputFailed(let detail)) = self else { return false }
        return [ENOSPC, EDQUOT].contains { detail.hasSuffix(": \(describe(errno: $0))") }
    }
}

/// The names of files that a process has open already. They are links, and the only ones that outputs follow.
package enum OpenFileName {
    package static func `is`(_ path: String) -> Bool {
        ["/dev/stdout", "/dev/stderr"].contains(path) || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/")
    }
}

/// Safe file names for results. They never lead out of the directory.
package enum OutputName {
    /// The maximum length of a stem, in bytes. File names are limited to 255 bytes.
    private static let longestStem = 100

    /// Returns a name from a list without the extension of a format. The copy gets the extension of its own format.
    package static func stem(_ name: String) -> String {
        guard format(of: name) != nil, let dot = name.lastIndex(of: ".") else { return name }
        return String(name[..<dot])
    }

    /// Returns the format that the extension of a file's name stands for; nil for another extension or none.
    package static func format(of path: String) -> ImageFormat? {
        let name = path.pathComponents.last.map { String($0) } ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        return ImageFormat(ending: String(name[name.index(after: dot)...]))
    }

    /// Returns the name with the extension of a format in place of a misspelt one; nil for any other name.
    package static func likely(_ path: String) -> String? {
        guard format(of: path) == nil, let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else {
            return nil
        }
        let ending = path[path.index(after: dot)...].lowercased()
        let known = ImageFormat.allCases.filter(\.isEncodable).flatMap { [$0.fileExtension, $0.rawValue] }
        return NearestName.to(ending, in: known).map { path[...dot] + $0 }
    }

    /// Returns a name with its extension as `kept` does: a long name keeps its extension.
    static func keptName(_ name: String, _ isSafe: Bool) -> String {
        let scalars = name.unicodeScalars
        guard let dot = scalars.lastIndex(of: "."), dot != scalars.startIndex, name[dot...].utf8.count <= 16 else {
            return kept(name, isSafe)
        }
        return kept(String(name[..<dot]), isSafe) + "." + kept(String(name[scalars.index(after: dot)...]), isSafe)
    }

    /// Returns the stem with all characters that file systems allow, and bytes that are not UTF-8; with `isSafe`, as `safe`
    /// does. Slashes, control and invisible characters become `_`, and so does a tilde at the beginning.
    static func kept(_ stem: String, _ isSafe: Bool) -> String {
        if isSafe { return safe(stem) }
        let name = cut(stem) { $0 != "/" && (VisibleText.isHarmless($0) || RawText.byte(of: $0) != nil) }
        return name.unicodeScalars.first == "~" ? "_" + String(name.unicodeScalars.dropFirst()) : name
    }

    /// Returns whether the text can be part of a file name unchanged.
    package static func isSafe(_ text: String) -> Bool { !text.isEmpty && safe(text) == text }

    /// Returns the stem with letters, digits, `-`, `_`, `.` and `+`; all other characters become `_`, invisible letters
    /// included.
    static func safe(_ stem: String) -> String {
        cut(stem) { scalar in
            (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || "-_.+".unicodeScalars.contains(scalar)) && !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns the stem with `_` for what is not `kept`, not too long, and without dots at the beginning.
    private static func cut(_ stem: String, _ kept: (Unicode.Scalar) -> Bool) -> String {
        var (result, length) = ("", 0)
        for scalar in stem.unicodeScalars {
            let next: Unicode.Scalar = kept(scalar) ? scalar : "_"
            length += RawText.byte(of: next) == nil ? UTF8.width(next) : 1
            if length > longestStem { break }
            result.unicodeScalars.append(next)
        }
        // Compares scalars: a dot with a combining accent is another Character, and still a dot for the file system.
        while result.unicodeScalars.first == "." { result.unicodeScalars.removeFirst() }
        return result.isEmpty ? "image" : result
    }
}

package enum OutputDirectory {
    /// Creates the directory if it is missing, with its parents if `parents` is true. Throws `outputFailed` (4002).
    package static func make(_ path: String, parents: Bool = false) throws(KingfisherError) {
        if parents {
            for (index, scalar) in zip(path.unicodeScalars.indices, path.unicodeScalars)
            where scalar == "/" && index != path.unicodeScalars.startIndex {
                try make(String(path.unicodeScalars[..<index]))
            }
        }
        if path.withPath({ mkdir($0, 0o777) }) == 0 { return }
        let code = errno
        if code == EEXIST, stat(path, followingLinks: true)?.isDirectory == true { return }
        let hint = code == ENOENT && !parents ? "; --create-dirs creates missing directories" : ""
        let detail = (code == EEXIST ? "it is not a directory" : describe(errno: code)) + hint
        throw .processorError(reason: .outputFailed(detail: "cannot write into \(path): \(detail)"))
    }

    /// Returns the path without links; nil where there is nothing.
    package static func real(_ path: String) -> String? {
        let real = path.withPath { realpath($0, nil) }
        defer { free(real) }
        return real.map { RawText.decode($0) }
    }

    /// Returns the relative path between two directories, with a slash at its end; empty for the same one. Links are
    /// followed. A directory that cannot be resolved counts as it is written.
    package static func path(from: String, to: String) -> String {
        func parts(_ path: String) -> [Substring] { (real(path) ?? path).pathComponents }
        let (own, other) = (parts(from), parts(to))
        let shared = zip(own, other).prefix { $0 == $1 }.count
        let steps = Array(repeating: "..", count: own.count - shared) + other.dropFirst(shared).map(String.init)
        return steps.map { $0 + "/" }.joined()
    }
}
