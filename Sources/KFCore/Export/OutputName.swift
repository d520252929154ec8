import Glibc
import KFStorage

/// Names for results in a directory. They never lead out of it.
public enum OutputName {
    /// A longer stem is cut; file names have 255 bytes.
    private static let longestStem = 100

    /// `{stem}-{hash}.{ext}`: the source's own name, 12 digits of the key's hash, the extension of what it is.
    public static func name(stem: String, _ result: RetrieveImageResult) -> String {
        var sha = SHA256()
        sha.update(result.identifier.isEmpty ? result.key : "\(result.key)@\(result.identifier)")
        return "\(safe(stem))-\(sha.finish().hex.prefix(12)).\(result.facts.format.fileExtension)"
    }

    /// Letters, digits and what is harmless beside them; everything else, separators first, becomes `_`.
    static func safe(_ stem: String) -> String {
        var result = ""
        for scalar in stem.unicodeScalars {
            let isPlain =
                scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || "-_.+".unicodeScalars.contains(scalar)
            result.unicodeScalars.append(isPlain ? scalar : "_")
            if result.utf8.count >= longestStem { break }
        }
        while result.first == "." { result.removeFirst() }
        return result.isEmpty ? "image" : result
    }
}

/// A directory that results are written into.
public enum OutputDirectory {
    /// Makes it when it is not there; the directory above it must be. Throws `outputFailed` (4002).
    public static func make(_ path: String) throws(KingfisherError) {
        if mkdir(path, 0o777) == 0 { return }
        let code = errno
        var status = stat()
        if code == EEXIST, stat(path, &status) == 0, status.isDirectory { return }
        let detail = code == EEXIST ? "it is not a directory" : describe(errno: code)
        throw .processorError(reason: .outputFailed(detail: "cannot write into \(path): \(detail)"))
    }
}
