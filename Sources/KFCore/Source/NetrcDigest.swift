import Glibc
import KFStorage
import Synchronization

/// Stands for the passwords of a netrc file in cache keys: other passwords, other images.
enum NetrcDigest {
    private static let known = Mutex<[String: String]>([:])

    /// `file` is empty for ~/.netrc. The file is read once by a process; one that cannot be read has no passwords.
    static func of(_ file: String) -> String {
        let path = file.isEmpty ? standardPath : file
        return known.withLock { known in
            if let digest = known[path] { return digest }
            let read = Result { () throws(StorageError) in
                try FileDescriptor.open(path, O_RDONLY).readAll(limit: 1 << 20)
            }
            var digest = ""
            // libcurl reads the file itself, and asks without a password where it cannot.
            if case .success(let bytes) = read { digest = bytes.withUnsafeBytes { SHA256.hash($0) }.hex }
            known[path] = digest
            return digest
        }
    }

    private static var standardPath: String { "\(getenv("HOME").map { String(cString: $0) } ?? "")/.netrc" }
}
