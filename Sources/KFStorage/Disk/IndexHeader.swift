import Glibc

/// The first bytes of the index.
enum IndexHeader {
    /// Whether `index.sqlite` in an open directory is a database of SQLite's that says it is kf's.
    static func isOwn(in version: Int32) -> Bool {
        var status = stat()
        guard fstatat(version, "index.sqlite", &status, AT_SYMLINK_NOFOLLOW) == 0, status.isRegularFile else {
            return false
        }
        let raw = openat(version, "index.sqlite", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else { return false }
        // No lock of SQLite's can be lost by that: the process has not opened the index yet.
        defer { close(raw) }
        var header = [UInt8](repeating: 0, count: 72)
        guard header.withUnsafeMutableBytes({ pread(raw, $0.baseAddress, $0.count, 0) }) == header.count else {
            return false
        }
        let application = header[68...].reduce(0) { $0 << 8 | Int($1) }
        return header.starts(with: "SQLite format 3\0".utf8) && application == Schema.applicationID
    }
}
