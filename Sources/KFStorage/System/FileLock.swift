import Glibc
import KFSystem
import Synchronization

/// Open-file-description locks on single bytes of a file.
///
/// They belong to the descriptor, not to the process. So threads exclude each other too, and closing another descriptor
/// of the same file does not release them.
package final class FileLock: Sendable {
    package typealias Kind = ByteLock.Kind

    private let file: FileDescriptor

    package init(_ file: consuming FileDescriptor) { self.file = file }

    var path: String { file.path }

    /// Waits for the lock without a time limit; `BoundedLock` has one.
    package func acquire(_ kind: Kind, byte: Int64) throws(StorageError) {
        try retry("lock", file.path) { ByteLock.set(kind, byte: byte, of: file.raw, waits: true) }
    }

    /// Takes the lock without waiting. Returns false if another process or descriptor holds it.
    package func tryAcquire(_ kind: Kind, byte: Int64) throws(StorageError) -> Bool {
        try Self.tryAcquire(kind, byte: byte, of: file)
    }

    /// Takes a lock that is held until `release` or the closing of the descriptor, without waiting.
    static func tryAcquire(
        _ kind: Kind, byte: Int64, of file: borrowing FileDescriptor
    ) throws(StorageError) -> Bool {
        do {
            try retry("lock", file.path) { ByteLock.set(kind, byte: byte, of: file.raw, waits: false) }
            return true
        } catch .system(_, _, let code) where code == EAGAIN || code == EACCES {
            return false
        }
    }

    /// Releases the lock; has no effect if it is not held.
    package func release(byte: Int64) { Self.release(byte: byte, of: file) }

    static func release(byte: Int64, of file: borrowing FileDescriptor) {
        _ = ByteLock.set(.none, byte: byte, of: file.raw, waits: false)
    }

    func isFree(byte: Int64) throws(StorageError) -> Bool { try conflict(byte: byte) == nil }

    /// Returns the process that holds a traditional lock (`lockf`). The kernel does not report the holder of an OFD
    /// lock.
    func traditionalHolder(byte: Int64) -> pid_t? {
        guard let holder = bestEffort({ try conflict(byte: byte) }) ?? nil, holder > 0 else { return nil }
        return holder
    }

    private func conflict(byte: Int64) throws(StorageError) -> pid_t? {
        var holder: pid_t?
        try retry("lock", file.path) { ByteLock.conflict(byte: byte, of: file.raw, holder: &holder) }
        return holder
    }

    /// Reads `count` 64-bit numbers of the file, from number `first` on. Numbers past the end of the file are 0.
    func read(words count: Int, from first: Int = 0) throws(StorageError) -> [Int64] {
        var words = [Int64](repeating: 0, count: count)
        try words.withMutableBytes { buffer throws(StorageError) in
            _ = try file.read(at: Int64(first * 8), into: buffer)
        }
        return words.map(Int64.init(littleEndian:))
    }

    /// Maps the file's first words into memory. Returns nil while the file has fewer.
    func map(words count: Int) -> MappedWords? { MappedWords(file, atLeast: count) }

    func write(words: [Int64], from first: Int = 0) throws(StorageError) {
        try words.map(\.littleEndian).withBytes { buffer throws(StorageError) in
            _ = try retry("write", file.path) { pwrite(file.raw, buffer.baseAddress, buffer.count, off_t(first * 8)) }
        }
    }
}

/// The process that holds a lock, for messages. The kernel does not report the holder of an OFD lock, so the holder of
/// the write lock writes its process number into the lock file.
enum LockHolder {
    /// The word of the lock file with the number of the process that holds the write lock; 0 if none does.
    private static let word = CommitCount.word + 1

    /// Writes this process's number when the lock is held, and 0 before it is released.
    static func note(_ pid: pid_t, in file: FileLock) {
        // Without the number, messages lack it, and the holder's commits alone are its signs of life.
        bestEffort { try file.write(words: [Int64(pid)], from: word) }
    }

    /// Returns what changes while the holders of the write lock work: the number of commits, and the holder's number.
    static func signs(in file: FileLock) -> [Int64]? {
        // The words are neighbours. If they cannot be read, the holder counts as silent.
        bestEffort { try file.read(words: 2, from: CommitCount.word) }
    }

    /// Returns "process 4711 (kf, stopped)", or "another process" if its number is not known.
    /// `isNoted`: holders of the lock write their number into the file.
    static func describe(_ file: FileLock, byte: Int64, isNoted: Bool) -> String {
        if let pid = file.traditionalHolder(byte: byte) { return describe(pid) }
        guard isNoted, let number = bestEffort({ try file.read(words: 1, from: word)[0] }),
            let pid = pid_t(exactly: number), pid > 0
        else { return "another process" }
        return describe(pid)
    }

    private static func describe(_ pid: pid_t) -> String {
        // "4711 (name) S ...": the name may hold anything, parentheses too. A process that is gone, or in another
        // container, holds nothing that can be named.
        let read = bestEffort { try FileDescriptor.open("/proc/\(pid)/stat", O_RDONLY).readAll(limit: 4096) }
        let line = String(decoding: read ?? [], as: UTF8.self)
        guard let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")") else { return "another process" }
        let name = line[line.index(after: open)..<close]
        let isStopped = line[close...].dropFirst(2).first.map { "Tt".contains($0) } == true
        return "process \(pid) (\(name)\(isStopped ? ", stopped" : ""))"
    }
}

/// A memory mapping of the first 64-bit numbers of a file that other processes write.
final class MappedWords: Sendable {
    private let address: UInt
    private static let length = 4096

    /// Maps the file; nil if it has fewer words or cannot be mapped. The file must never shrink: reading past its end
    /// raises SIGBUS.
    init?(_ file: borrowing FileDescriptor, atLeast words: Int) {
        var status = stat()
        guard words * 8 <= Self.length, fstat(file.raw, &status) == 0, status.st_size >= words * 8,
            let start = mmap(nil, Self.length, PROT_READ, MAP_SHARED, file.raw, 0), start != MAP_FAILED
        else { return nil }
        address = UInt(bitPattern: start)
    }

    deinit { munmap(UnsafeMutableRawPointer(bitPattern: address), Self.length) }

    /// The present value of a number; `index` must be below the `words` passed to `init`.
    subscript(index: Int) -> Int64 {
        guard let start = UnsafeMutableRawPointer(bitPattern: address) else { return 0 }
        let words = start.assumingMemoryBound(to: Atomic<Int64>.self)
        return Int64(littleEndian: words[index].load(ordering: .acquiring))
    }
}
