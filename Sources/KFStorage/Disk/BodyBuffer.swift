import Synchronization

/// A buffer for bytes of a large body, on their way into its file and to its hash.
///
/// The process has a fixed number of buffers, so that many concurrent large bodies take no more memory than a few.
// One thread at a time holds a buffer: the writing thread fills it and gives it up when it hands it to the hash.
final class BodyBuffer: @unchecked Sendable {
    /// The size in bytes: half of a checkpoint's spacing, and small enough that several buffers stay in a processor's
    /// second-level cache.
    static let capacity = 128 << 10
    /// The number of buffers for all bodies of the process: 3 MiB.
    private static let limit = 24

    // Either the pool or one buffer holds a block, never both.
    private struct Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
    }

    private struct Pool {
        var free: [Block] = []
        var used = 0
    }

    private static let pool = Mutex(Pool())

    private let block: Block
    /// The number of bytes that the buffer holds.
    private(set) var count = 0

    private init(_ block: Block) { self.block = block }

    deinit {
        Self.pool.withLock { [block] pool in
            pool.free.append(block)
            pool.used -= 1
            guard pool.used == 0 else { return }
            // No large body is in flight, so the memory is freed.
            for block in pool.free { block.start.deallocate() }
            pool.free = []
        }
    }

    /// Returns an empty buffer; nil when all of them are in use.
    static func take() -> BodyBuffer? {
        let block: Block? = pool.withLock { pool in
            guard pool.used < limit else { return nil }
            pool.used += 1
            // The buffer that was returned last is likely still in a processor's cache.
            return pool.free.popLast() ?? Block(start: .allocate(byteCount: capacity, alignment: 4096))
        }
        return block.map(BodyBuffer.init)
    }

    /// Whether more than half of the buffers are in use, because several large bodies are in flight.
    static var areScarce: Bool { pool.withLock { $0.used > limit / 2 } }

    var isFull: Bool { count == Self.capacity }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: block.start, count: count) }

    /// Appends as many of the bytes as fit, and returns their number.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, Self.capacity - count)
        if let source = bytes.baseAddress, taken > 0 {
            (block.start + count).copyMemory(from: source, byteCount: taken)
        }
        count += taken
        return taken
    }

    /// Drops all bytes after the first `count`.
    func truncate(to count: Int) { self.count = min(self.count, max(0, count)) }
}

/// A reader of the bytes of a body, in order while they are written. It runs beside the body's hash, on the same
/// thread.
///
/// A value type: a copy continues from the same position.
package protocol BodyReader: Sendable {
    /// Reads the next bytes, which are valid during the call only.
    mutating func read(_ bytes: UnsafeRawBufferPointer)
}
