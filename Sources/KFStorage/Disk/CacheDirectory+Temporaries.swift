import CSystem
import Glibc
import Synchronization

extension CacheDirectory {
    /// The age in seconds from which a file in `tmp` belongs to a dead process.
    static let temporaryLifetime: Int64 = 3600

    // ext4 does not reuse an inode in the minutes after its deletion. Creating a file steps over every such inode of
    // the block group. After an eviction had deleted some thousands, 5,000 creations took 3.5 s instead of 0.2 s.
    //
    // A file's inode comes from the block group of its folder. So new files are spread over many folders. `tmp` is
    // marked as the top of a hierarchy, and ext4 spreads the folders below it over the groups: 0.25–0.4 s in the same
    // state.
    private static let folders = 64
    private static let counter = Atomic<Int>(Int(getpid()))
    /// The beginning of this process's names. It is random as well, because process ids are reused.
    private static let process = "\(getpid())-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    /// The beginning of the names in each folder.
    private static let prefixes = (0..<UInt8(clamping: folders)).map { "tmp/\(ObjectStore.folderName($0))/\(process)-" }

    /// Creates a file in `tmp`, open for reading and writing. Its name begins with this process's prefix.
    func openTemporary(mode: mode_t) throws(StorageError) -> TemporaryFile {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let name = Self.name(number)
        let flags = O_RDWR | O_CREAT | O_EXCL
        do {
            return TemporaryFile(name: name, file: try open(name, flags, mode: mode))
        } catch let error where error.isAbsence {
            let top = try open("tmp", O_RDONLY | O_DIRECTORY)
            kf_spread_folders(top.raw)
            try makeFolder(String(name.prefix("tmp/00".count)))
            return TemporaryFile(name: name, file: try open(name, flags, mode: mode))
        }
    }

    /// Returns the name of a number, made with one allocation and without the library's formatting.
    private static func name(_ number: Int) -> String {
        var prefix = prefixes[number & (folders - 1)]
        return prefix.withUTF8 { prefix in
            String(unsafeUninitializedCapacity: prefix.count + 20) { text in
                var (rest, count) = (number.magnitude, text.initialize(fromContentsOf: prefix))
                let start = count
                repeat {
                    text[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    (rest, count) = (rest / 10, count + 1)
                } while rest > 0
                text[start..<count].reverse()
                return count
            }
        }
    }

    /// Removes objects that were moved aside. The next sweep tries again with what cannot be removed.
    func reapAside() {
        for name in names(in: "tmp") where name.hasPrefix(Self.asideName) { removeTree("tmp/\(name)") }
    }

    /// Returns the files in `tmp` that dead processes left: those that are too old to be still written, and all while no
    /// other process has the cache open.
    func leftovers(now: Timestamp, isAlone: Bool) -> [String] {
        temporaries.filter { name in
            guard !Self.isOwn(name), let status = status(of: name), !status.isDirectory else { return false }
            return isAlone || status.age(at: now) > Self.temporaryLifetime
        }
    }

    private static let asideName = "objects.broken-"

    /// Returns a new name below `v1` for a folder that is moved aside and then removed.
    static func aside() -> String {
        "tmp/\(asideName)\(process)-\(counter.add(1, ordering: .relaxed).newValue)"
    }

    /// Removes the files that this process is writing.
    func removeOwnTemporaries() { temporaries.filter(Self.isOwn).forEach(unlink) }

    private static func isOwn(_ name: String) -> Bool {
        name.utf8.dropFirst("tmp/00/".utf8.count).starts(with: process.utf8)
    }

    /// The names below `v1` of everything in `tmp` and its folders.
    private var temporaries: [String] {
        // Anything but a folder yields no names.
        names(in: "tmp").flatMap { name in ["tmp/\(name)"] + names(in: "tmp/\(name)").map { "tmp/\(name)/\($0)" } }
    }
}

/// A file in `tmp`. Its name is relative to `v1`.
struct TemporaryFile: ~Copyable {
    let name: String
    let file: FileDescriptor
}

extension CacheDirectory {
    /// Removes partial bodies that will not be resumed. Those older than a day go. With `keeping`, the oldest go until
    /// the rest takes at most that many bytes; with 0, all go. Bodies that a process is writing stay.
    ///
    /// Returns the bodies that are left, whose bytes become `partialBytes`, and the removed ones. With `dryRun`, only
    /// counts them.
    @discardableResult
    func reapPartials(
        now: Timestamp, keeping limit: Int64 = .max, dryRun: Bool = false
    ) -> (left: PartialSum, removed: PartialSum) {
        var bodies: [(name: String, modified: Int64, size: Int64)] = []
        var (left, removed) = (PartialSum(), PartialSum())
        for file in names(in: "partial") {
            let name = "partial/\(file)"
            // Other names are not kf's.
            let digits = file.hasSuffix(".facts") ? file.dropLast(".facts".count) : file[...]
            guard Digest(hex: digits) != nil, let status = status(of: name) else { continue }
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

    /// Removes a record without a body once it is an hour old. A younger one may be about to get its body.
    private func reapRecord(_ name: String, age: Int64, dryRun: Bool) {
        let body = String(name.dropLast(".facts".count))
        if !exists(body), age > Self.temporaryLifetime, !dryRun { unlink(name) }
    }

    /// Removes a partial body. Returns false while a process writes to it, this one included.
    private func removePartial(_ name: String, dryRun: Bool) -> Bool {
        let isFree = bestEffort { try FileLock.tryAcquire(.exclusive, byte: 0, of: openFile(name, O_RDWR)) }
        // Only regular files can be opened here, so anything else (a link, a directory, a socket) is not a body.
        if isFree == false { return false }
        if !dryRun { PartialBody.removeFiles(name, in: self) }
        return true
    }

    /// The number and bytes of partial bodies, including those that are being written.
    var partials: PartialSum {
        var sum = PartialSum()
        for file in names(in: "partial") where !file.hasSuffix(".facts") {
            guard let status = status(of: "partial/\(file)"), status.isRegularFile else { continue }
            sum.add(Int64(status.st_size))
        }
        return sum
    }

    func isFile(_ file: borrowing FileDescriptor, at name: String) -> Bool {
        var own = stat()
        guard let placed = status(of: name), fstat(file.raw, &own) == 0 else { return false }
        return placed.isSameFile(as: own)
    }

    /// Writes a small file in `tmp` and moves it into place.
    func replace(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        let temporary = try openTemporary(mode: 0o600)
        do {
            try bytes.withBytes { bytes throws(StorageError) in try temporary.file.write(bytes) }
            try move(temporary.name, to: name)
        } catch {
            unlink(temporary.name)
            throw error
        }
    }
}

/// The reserve: a file without data that is removed when the disk is full, because removing entries first needs room in
/// the write-ahead log.
extension CacheDirectory {
    private static let reserve = "reserve"
    /// The least and the largest size in bytes. The least opens the index of a full disk and begins a removal, whose
    /// files then make room. The largest is several times the log of an eviction's transactions.
    private static let reserveSizes: ClosedRange<Int64> = 128 << 10...4 << 20
    /// The part of the stored bytes that the reserve takes between these sizes: one of so many.
    private static let reserveShare: Int64 = 8
    /// The reserve is created only if the free space is more than this many times its size.
    private static let ample: UInt64 = 16

    /// Returns the size for a cache of so many bytes: a power of two, so that a growing cache changes it rarely.
    private static func reserveSize(_ stored: Int64) -> Int64 {
        guard stored > 0 else { return 0 }
        let share = min(max(stored / reserveShare, reserveSizes.lowerBound), reserveSizes.upperBound)
        return 1 << (63 - share.leadingZeroBitCount)
    }

    /// Creates the reserve or lets it grow with a cache of `stored` bytes, if the disk has room enough. Costs one
    /// comparison when nothing is to do. A failure is not an error: nothing depends on the reserve.
    func growReserve(stored: Int64) {
        let size = Self.reserveSize(stored)
        guard size > reserved.load(ordering: .relaxed) else { return }
        let present = status(of: Self.reserve).map { Int64($0.st_size) } ?? 0
        reserved.store(max(size, present), ordering: .relaxed)
        var disk = statvfs()
        guard present < size, fstatvfs(version.raw, &disk) == 0,
            UInt64(disk.f_bavail) * UInt64(disk.f_frsize) > Self.ample * UInt64(size)
        else { return }
        let isMade = bestEffort {
            let file = try openFile(Self.reserve, O_WRONLY | O_CREAT, mode: 0o600)
            return kf_allocate(file.raw, size) == 0
        }
        if isMade == false { unlink(Self.reserve) }
    }

    /// Shortens a reserve that is too large for a cache of `stored` bytes.
    func shrinkReserve(stored: Int64) {
        let size = Self.reserveSize(stored)
        guard let present = status(of: Self.reserve), present.st_size > size else { return }
        if size == 0 { return unlink(Self.reserve) }
        // A failure leaves the larger reserve, which only takes more room.
        bestEffort {
            let file = try openFile(Self.reserve, O_WRONLY)
            return ftruncate(file.raw, off_t(size))
        }
    }

    /// Removes the reserve. Returns false when there is none.
    func giveUpReserve() -> Bool {
        // This process leaves the room to others, and creates no reserve any more.
        reserved.store(.max, ordering: .relaxed)
        return bestEffort { try removeFile(Self.reserve) } != nil
    }

    /// Runs `body`. If the disk is full, gives up the reserve and runs `body` once more.
    func sparing<Value>(_ body: () throws(StorageError) -> sending Value) throws(StorageError) -> sending Value {
        do {
            return try body()
        } catch let error where error.isDiskFull {
            guard giveUpReserve() else { throw error }
            return try body()
        }
    }
}
