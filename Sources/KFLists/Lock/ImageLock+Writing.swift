import Glibc
import KFStorage
import KFSystem
import KFTerms

/// Writing.
extension ImageLock {
    /// A change of a lock's images.
    public enum Change: Sendable, Equatable {
        /// The image is added, unless the URL is locked already.
        case add(Image)
        /// The image takes the place of the one that is locked, or is added.
        case replace(Image)

        package var image: Image {
            switch self {
            case .add(let image), .replace(let image): image
            }
        }
    }

    /// Returns the content of a lock with changes by URL, sorted, and without the URLs that `keeps` refuses. Comments stay
    /// in front of the line that they are in front of. `others` receives each image that is not added because the content
    /// has another one under its URL. Throws if the content is no lock.
    public static func merged(
        _ content: [UInt8], _ changes: [String: Change], ignoredParameters: String? = nil,
        keeps: (String) -> Bool = { _ in true }, others: (String, Image) -> Void = { _, _ in }
    ) throws(Problem) -> [UInt8] {
        struct Written {
            let url: String
            var comments: [String] = []
            var line: String
        }
        var (head, comments, lines) = ([String](), [String](), [Written]())
        var rest = changes
        var hasHeader = false
        try content.withBytes { bytes throws(Problem) in
            var number = 1
            _ = try forEachLine(of: bytes, from: &number, isLast: true) { number, line throws(Problem) in
                let text = String(decoding: line, as: UTF8.self)
                guard case .image(let url, let digest, let bytes) = try read(line, number) else {
                    if number == 1 { return }
                    if text.hasPrefix(ignoring) { hasHeader = true }
                    // Comments at the beginning, up to an empty line or the first image, belong to the file.
                    if lines.isEmpty, comments.isEmpty { head.append(text) } else { comments.append(text) }
                    return
                }
                let name = String(decoding: url, as: UTF8.self)
                var written = Written(url: name, comments: comments, line: text)
                comments = []
                let change = rest.removeValue(forKey: name)
                let locked = Image(hash: ContentHash(digest), bytes: bytes)
                switch change {
                case .replace(let image): written.line = Self.line(name, image, keeping: text)
                case .add(let image): if image.hash != locked.hash { others(name, locked) }
                case nil: break
                }
                if change != nil || keeps(name) { lines.append(written) }
            }
        }
        for (url, change) in rest { lines.append(Written(url: url, line: line(url, change.image))) }
        lines.sort { $0.url.utf8.lexicographicallyPrecedes($1.url.utf8) }
        if !hasHeader, let ignoredParameters { head.append(ignoring + ignoredParameters) }
        let all = [firstLine] + head + lines.flatMap { $0.comments + [$0.line] } + comments
        return Array((all.joined(separator: "\n") + "\n").utf8)
    }

    private static func line(_ url: String, _ image: Image, keeping old: String = "") -> String {
        let kept = old.split(separator: " ").dropFirst(3)
        return ([url, image.hash.description, image.bytes.map { "\($0)" } ?? "-"] + kept.map { String($0) })
            .joined(separator: " ")
    }

    /// Returns the reason why a file could not be written; nil if none shows.
    package static func obstacle(to path: String) -> String? {
        let folder = path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[...$0]) } ?? "."
        if folder.withPath({ access($0, W_OK) }) == 0 { return nil }
        return errno == ENOENT ? "the folder \(folder) does not exist" : "the folder \(folder) cannot be written to"
    }

    /// Merges changes into a file, which is replaced as a whole and only if its content changes. Waits for other processes
    /// that write a lock in the same folder, at most a minute. Returns the images, by URL, that the file has in place of
    /// others that were to be added. Throws `outputFailed` (4002), or `invalidLock` (1008) if the file cannot be read.
    /// Blocks.
    @discardableResult
    public static func merge(
        _ changes: [String: Change], into path: String, ignoredParameters: String? = nil,
        keeps: (String) -> Bool = { _ in true }
    ) throws(KingfisherError) -> [String: Image] {
        let folder = try lockedFolder(of: path)
        defer { withExtendedLifetime(folder) {} }
        let old = try content(of: path)
        let new: [UInt8]
        var others: [String: Image] = [:]
        do throws(Problem) {
            new = try merged(old ?? [], changes, ignoredParameters: ignoredParameters, keeps: keeps) { others[$0] = $1 }
        } catch {
            throw .processorError(reason: .outputFailed(detail: "cannot write \(path): \(error)"))
        }
        if new == old { return others }
        let output = try OutputFile.open(path)
        try OutputFile.failing { () throws(StorageError) in
            try new.withBytes { bytes throws(StorageError) in try output.file.write(bytes) }
            try retry("fsync", path) { fsync(output.file.raw) }
        }
        try output.commit()
        return others
    }

    /// Locks the folder of a file for the lifetime of the descriptor. The file itself is replaced, so that a lock on it would
    /// not last. Waits for other processes, at most a minute. Blocks.
    private static func lockedFolder(of path: String) throws(KingfisherError) -> FileDescriptor {
        let name = path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[...$0]) } ?? "."
        let folder: FileDescriptor = try OutputFile.failing { () throws(StorageError) in
            try .open(name, O_RDONLY | O_DIRECTORY)
        }
        for _ in 0..<6000 {
            // A file system without locks has no other writer that would wait.
            if flock(folder.raw, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return folder }
            usleep(10_000)
        }
        throw OutputFile.failure(StorageError.locked(path: path, holder: "another process", waited: .seconds(60)))
    }
}
