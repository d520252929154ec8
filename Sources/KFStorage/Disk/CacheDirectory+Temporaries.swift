import CSystem
import Glibc
import Synchronization

extension CacheDirectory {
    /// In seconds: older files in `tmp` belong to nobody who still lives.
    static let temporaryLifetime: Int64 = 3600

    // ext4 does not give an inode away again in the minutes after its deletion, and a creation in a block group steps
    // over every one of them: with some thousands deleted, as after an eviction, 5,000 creations took 3.5 s instead of
    // 0.2 s. A file's inode comes from the group of its folder. So new files lie in many folders, and `tmp` is told to
    // be the top of a hierarchy, whose folders ext4 then spreads over the groups: 0.25–0.4 s in the same state.
    private static let folders = 64
    private static let counter = Atomic<Int>(Int(getpid()))
    /// What the names of this process begin with; a process id alone comes again.
    private static let process = "\(getpid())-" + String(UInt64.random(in: 0 ... .max), radix: 16)

    /// A new file, open for reading and writing, and its name below `v1`, which begins with the process.
    func openTemporary(mode: mode_t) throws(StorageError) -> TemporaryFile {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let folder = "tmp/" + Self.folder(number)
        let name = "\(folder)/\(Self.process)-\(number)"
        let flags = O_RDWR | O_CREAT | O_EXCL
        do {
            return TemporaryFile(name: name, file: try open(name, flags, mode: mode))
        } catch .system(_, _, let code) where code == ENOENT || code == ELOOP || code == ENOTDIR {
            try makeTemporaryFolder(folder)
            return TemporaryFile(name: name, file: try open(name, flags, mode: mode))
        }
    }

    private static func folder(_ number: Int) -> String {
        let digits = String(number & (folders - 1), radix: 16)
        return digits.utf8.count == 1 ? "0" + digits : digits
    }

    private func makeTemporaryFolder(_ folder: String) throws(StorageError) {
        kf_spread_folders(try open("tmp", O_RDONLY | O_DIRECTORY).raw)
        try makeFolder(folder)
    }

    /// Removes what dead processes left in `tmp`, objects of a broken index among it. What cannot be removed is the next
    /// one's to try.
    func reapTemporaries(now: Timestamp) {
        for name in names(in: "tmp") where name.hasPrefix(Self.asideName) { removeTree("tmp/\(name)") }
        forEachTemporary { name in
            guard !Self.isOwn(name), let status = status(of: name), !status.isDirectory,
                status.age(at: now) > Self.temporaryLifetime
            else { return }
            unlink(name)
        }
    }

    private static let asideName = "objects.broken-"

    /// A new name below `v1` for what is moved out of the way and then removed.
    static func aside() -> String {
        "tmp/\(asideName)\(process)-\(counter.add(1, ordering: .relaxed).newValue)"
    }

    /// Removes what this process is writing.
    func removeOwnTemporaries() {
        forEachTemporary { name in
            if Self.isOwn(name) { unlink(name) }
        }
    }

    private static func isOwn(_ name: String) -> Bool {
        name.utf8.dropFirst("tmp/00/".utf8.count).starts(with: process.utf8)
    }

    /// Names below `v1`: all that lies in `tmp` and its folders.
    func forEachTemporary(_ body: (String) -> Void) {
        for name in names(in: "tmp") {
            body("tmp/\(name)")
            // Something else than a folder has no names in it.
            for inner in names(in: "tmp/\(name)") { body("tmp/\(name)/\(inner)") }
        }
    }
}

/// A file in `tmp`; its name is below `v1`.
struct TemporaryFile: ~Copyable {
    let name: String
    let file: FileDescriptor
}
