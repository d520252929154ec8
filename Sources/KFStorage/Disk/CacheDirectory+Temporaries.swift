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

extension CacheDirectory {
    /// Removes partial bodies that will not be resumed: those older than a day, and with `keeping` bytes, the oldest
    /// until the rest takes no more; with 0, all. What another process writes to stays. Says what is left, which becomes
    /// `partialBytes`, and what went. With `dryRun`, only says what would go.
    @discardableResult
    func reapPartials(
        now: Timestamp, keeping limit: Int64 = .max, dryRun: Bool = false
    ) -> (left: PartialSum, removed: PartialSum) {
        var bodies: [(name: String, modified: Int64, size: Int64)] = []
        var (left, removed) = (PartialSum(), PartialSum())
        for file in names(in: "partial") {
            let name = "partial/\(file)"
            guard let status = status(of: name) else { continue }
            let size = status.isRegularFile ? Int64(status.st_size) : 0
            if file.hasSuffix(".facts") {
                reapRecord(name, age: limit == 0 ? .max : status.age(at: now), dryRun: dryRun)
            } else if !status.isRegularFile || status.age(at: now) > PartialBody.lifetime || limit == 0 {
                if removePartial(name, dryRun: dryRun) { removed.add(size) } else { left.add(size) }
            } else {
                bodies.append((name, status.modified, size))
                left.add(size)
            }
        }
        for body in bodies.sorted(by: { $0.modified < $1.modified }) where left.bytes > limit {
            guard removePartial(body.name, dryRun: dryRun) else { continue }
            left.subtract(body.size)
            removed.add(body.size)
        }
        if !dryRun { partialBytes.store(left.bytes, ordering: .relaxed) }
        return (left, removed)
    }

    /// Removes a record without a body, unless its body may be about to be made.
    private func reapRecord(_ name: String, age: Int64, dryRun: Bool) {
        let body = String(name.dropLast(".facts".count))
        if !exists(body), age > Self.temporaryLifetime, !dryRun { unlink(name) }
    }

    /// False while another process, or this one, writes to it.
    private func removePartial(_ name: String, dryRun: Bool) -> Bool {
        let isFree = Result { () throws(StorageError) in
            let file = try openFile(name, O_RDWR)
            return try FileLock.tryAcquire(.exclusive, byte: 0, of: file)
        }
        // What cannot be opened is no body: a link, a directory, a socket.
        if case .success(false) = isFree { return false }
        if !dryRun { PartialBody.removeFiles(name, in: self) }
        return true
    }

    /// What partial bodies take, those that are being written included.
    var partials: PartialSum {
        var sum = PartialSum()
        for file in names(in: "partial") where !file.hasSuffix(".facts") {
            guard let status = status(of: "partial/\(file)"), status.isRegularFile else { continue }
            sum.add(Int64(status.st_size))
        }
        return sum
    }

    /// Whether the file at this place is the open one.
    func isFile(_ file: borrowing FileDescriptor, at name: String) -> Bool {
        var own = stat()
        guard let placed = status(of: name), fstat(file.raw, &own) == 0 else { return false }
        return placed.st_ino == own.st_ino && placed.st_dev == own.st_dev
    }

    /// Writes a small file aside and moves it into place.
    func replace(_ name: String, _ text: String) throws(StorageError) {
        let temporary = try openTemporary(mode: 0o600)
        do {
            try temporary.file.write(text)
            try move(temporary.name, to: name)
        } catch {
            unlink(temporary.name)
            throw error
        }
    }
}

/// A file of nothing that is given up when the disk is full: removing entries takes room in the log first.
extension CacheDirectory {
    private static let reserve = "reserve"
    /// In bytes: the log of an eviction's transactions, several times over.
    private static let reserveSize: Int64 = 4 << 20
    /// A disk with less than so many times that much left is not made fuller.
    private static let ample: UInt64 = 16

    /// Makes it where it is missing, if there is room enough. Nothing depends on it but comfort.
    func makeReserve() {
        guard !exists(Self.reserve) else { return }
        var disk = statvfs()
        guard fstatvfs(version.raw, &disk) == 0,
            UInt64(disk.f_bavail) * UInt64(disk.f_frsize) > Self.ample * UInt64(Self.reserveSize)
        else { return }
        let isMade = Result { () throws(StorageError) in
            let file = try open(Self.reserve, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            return kf_allocate(file.raw, Self.reserveSize) == 0
        }
        if case .success(false) = isMade { unlink(Self.reserve) }
    }

    /// False when there is none (any more).
    func giveUpReserve() -> Bool {
        if case .success = Result(catching: { () throws(StorageError) in try removeFile(Self.reserve) }) { return true }
        return false
    }

    /// Runs `body`; when the disk is full, once more without the reserve.
    func sparing<Value>(_ body: () throws(StorageError) -> sending Value) throws(StorageError) -> sending Value {
        do {
            return try body()
        } catch let error where error.isDiskFull {
            guard giveUpReserve() else { throw error }
            return try body()
        }
    }
}
