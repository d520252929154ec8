import Glibc

/// The names in a directory.
enum FileListing {
    /// Without `.` and `..`; empty when the directory cannot be read.
    static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        return names(in: directory)
    }

    /// Of a folder below an open one, which must be no link.
    static func names(in name: String, of parent: Int32) -> [String] {
        let raw = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { return [] }
        guard let directory = fdopendir(raw) else {
            close(raw)
            return []
        }
        defer { closedir(directory) }
        return names(in: directory)
    }

    private static func names(in directory: OpaquePointer) -> [String] {
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
