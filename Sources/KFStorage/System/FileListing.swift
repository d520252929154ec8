import Glibc
import KFSystem

/// The names in a directory.
enum FileListing {
    /// Without `.` and `..`; empty when the directory cannot be read. Bytes that are not UTF-8 are kept (`RawText`).
    static func names(in directory: consuming FileDescriptor) -> [String] {
        // fdopendir takes the descriptor over.
        let raw = fcntl(directory.raw, F_DUPFD_CLOEXEC, 0)
        guard raw >= 0 else { return [] }
        guard let stream = fdopendir(raw) else {
            close(raw)
            return []
        }
        defer { closedir(stream) }
        rewinddir(stream)
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { RawText.decode($0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
