import Glibc
import KFImaging
import KFStorage
import KFSystem

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
