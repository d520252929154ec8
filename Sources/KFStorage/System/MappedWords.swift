import Glibc
import Synchronization

/// The first 64-bit numbers of a file that other processes write, in memory.
final class MappedWords: Sendable {
    private let address: UInt
    private static let length = 4096

    /// Nil when the file has fewer words, or cannot be mapped. The file must never get shorter: reading what is not there
    /// is SIGBUS.
    init?(_ file: borrowing FileDescriptor, atLeast words: Int) {
        var status = stat()
        guard words * 8 <= Self.length, fstat(file.raw, &status) == 0, status.st_size >= words * 8,
            let start = mmap(nil, Self.length, PROT_READ, MAP_SHARED, file.raw, 0), start != MAP_FAILED
        else { return nil }
        address = UInt(bitPattern: start)
    }

    deinit { munmap(UnsafeMutableRawPointer(bitPattern: address), Self.length) }

    /// The number as it is now; `index` must be below what `init` was asked for.
    subscript(index: Int) -> Int64 {
        guard let start = UnsafeMutableRawPointer(bitPattern: address) else { return 0 }
        let words = start.assumingMemoryBound(to: Atomic<Int64>.self)
        return Int64(littleEndian: words[index].load(ordering: .acquiring))
    }
}
