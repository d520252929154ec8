import Glibc
import KFStorage

/// Names for results in a directory. They never lead out of it.
public enum OutputName {
    /// A longer stem is cut; file names have 255 bytes.
    private static let longestStem = 100

    /// `{stem}-{hash}.{ext}`: the source's own name, 12 digits of the key's hash, the extension of what it is. A variant
    /// has its name before the extension.
    public static func name(stem: String, variant: String? = nil, _ result: RetrieveImageResult) -> String {
        var sha = SHA256()
        let isNamed = variant != nil || result.identifier.isEmpty
        sha.update(isNamed ? result.key : "\(result.key)@\(result.identifier)")
        let suffix = variant.map { "-\($0)" } ?? ""
        return "\(safe(stem))-\(sha.finish().hex.prefix(12))\(suffix).\(result.facts.format.fileExtension)"
    }

    /// Whether the text can be a part of a file name as it is.
    public static func isSafe(_ text: String) -> Bool { !text.isEmpty && safe(text) == text }

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
        if path.withPath({ mkdir($0, 0o777) }) == 0 { return }
        let code = errno
        var status = stat()
        if code == EEXIST, path.withPath({ stat($0, &status) }) == 0, status.isDirectory { return }
        let detail = code == EEXIST ? "it is not a directory" : describe(errno: code)
        throw .processorError(reason: .outputFailed(detail: "cannot write into \(path): \(detail)"))
    }
}
