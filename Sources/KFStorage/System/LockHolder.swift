import Glibc

/// Names the process that holds a lock, for messages. An OFD lock does not say whose it is, so the holder of the write
/// lock notes its number in the lock file.
enum LockHolder {
    /// The word of the lock file with the number of the process that holds the write lock; 0 when none does.
    private static let word = 4

    /// To be called with the lock. A note that cannot be written costs a message its number, nothing else.
    static func note(in file: FileLock) { write(Int64(getpid()), to: file) }

    /// To be called before the lock is released.
    static func clear(in file: FileLock) { write(0, to: file) }

    private static func write(_ pid: Int64, to file: FileLock) {
        _ = Result { () throws(StorageError) in try file.write(words: [pid], from: word) }
    }

    /// "process 4711 (kf, stopped)", or "another process" when its number is not known.
    /// `isNoted`: the holders of the lock note themselves.
    static func describe(_ file: FileLock, byte: Int64, isNoted: Bool) -> String {
        if let pid = file.traditionalHolder(byte: byte) { return describe(pid) }
        let noted = Result { () throws(StorageError) in try file.read(words: 1, from: word)[0] }
        guard isNoted, case .success(let number) = noted,
            let pid = pid_t(exactly: number), pid > 0
        else { return "another process" }
        return describe(pid)
    }

    private static func describe(_ pid: pid_t) -> String {
        // "4711 (name) S ...": the name may hold anything, parentheses too. A process that is gone, or in another
        // container, holds nothing that can be named.
        guard let line = status(of: pid), let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")")
        else { return "another process" }
        let name = line[line.index(after: open)..<close]
        let isStopped = line[close...].dropFirst(2).first.map { "Tt".contains($0) } == true
        return "process \(pid) (\(name)\(isStopped ? ", stopped" : ""))"
    }

    private static func status(of pid: pid_t) -> String? {
        let read = Result { () throws(StorageError) in
            try FileDescriptor.open("/proc/\(pid)/stat", O_RDONLY).readAll(limit: 4096)
        }
        guard case .success(let bytes) = read else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
