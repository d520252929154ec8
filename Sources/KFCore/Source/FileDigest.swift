import Glibc
import KFStorage
import KFSystem
import Synchronization

/// Digests of files that decide about requests: a netrc, the certificates of authorities.
enum FileDigest {
    private struct Known {
        let stamp: [Int64]
        let digest: String
    }

    private static let known = Mutex<[String: Known]>([:])
    /// Larger than any bundle of certificates.
    private static let limit = 64 << 20

    /// The digest of the file's content. The file is read again only when its size, time or inode has changed. A file
    /// that cannot be read is known by its path, as is a pipe: reading it would take the content away from libcurl.
    static func of(_ path: String) -> String {
        var status = stat()
        guard path.withPath({ stat($0, &status) }) == 0, status.isRegularFile else { return "path:\(path)" }
        let stamp = [Int64(status.st_size), status.modified, Int64(status.st_ino), Int64(status.st_dev)]
        return known.withLock { known in
            if let found = known[path], found.stamp == stamp { return found.digest }
            let read = Result { () throws(StorageError) in
                try FileDescriptor.open(path, O_RDONLY).readAll(expected: Int(stamp[0]), limit: limit)
            }
            // libcurl reads the file itself, and says what is wrong with it.
            guard case .success(let bytes) = read else { return "path:\(path)" }
            let digest = bytes.withUnsafeBytes { SHA256.hash($0) }.hex
            known[path] = Known(stamp: stamp, digest: digest)
            return digest
        }
    }

    /// The netrc that an option names: ~/.netrc when it is empty.
    static func ofNetrc(_ file: String) -> String {
        of(file.isEmpty ? "\(getenv("HOME").map { String(cString: $0) } ?? "")/.netrc" : file)
    }
}
