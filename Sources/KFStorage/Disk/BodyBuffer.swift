import Synchronization

/// A buffer for bytes of a large body, on their way into its file and to its hash.
///
/// The process has a fixed number of buffers, so that many large bodies at once take no more memory than a few.
// One thread at a time holds a buffer: the writing thread fills it and gives it up when it hands it to the hash.
final class BodyBuffer: @unchecked Sendable {
    /// Half of a checkpoint's spacing, and small enough that some of them stay in a processor's second-level cache.
    static let capacity = 128 << 10
    /// In all bodies of the process: 3 MiB.
    private static let limit = 24

    // The pool or one buffer holds a block, never both.
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
            // No large body is under way: the memory goes back.
            for block in pool.free { block.start.deallocate() }
            pool.free = []
        }
    }

    /// An empty buffer; nil when all of them are in use.
    static func take() -> BodyBuffer? {
        let block: Block? = pool.withLock { pool in
            guard pool.used < limit else { return nil }
            pool.used += 1
            // The buffer that was given back last is the one that a processor's cache still holds.
            return pool.free.popLast() ?? Block(start: .allocate(byteCount: capacity, alignment: 4096))
        }
        return block.map(BodyBuffer.init)
    }

    /// Whether more than half of the buffers are in use: several large bodies are under way.
    static var areScarce: Bool { pool.withLock { $0.used > limit / 2 } }

    var isFull: Bool { count == Self.capacity }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: block.start, count: count) }

    /// Takes as many of the bytes as there is room for, and returns how many.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, Self.capacity - count)
        if let source = bytes.baseAddress, taken > 0 {
            (block.start + count).copyMemory(from: source, byteCount: taken)
        }
        count += taken
        return taken
    }

    /// Drops what is behind the first `count` bytes.
    func truncate(to count: Int) { self.count = min(self.count, max(0, count)) }
}

/// Reads the bytes of a body in order while they are written, beside the body's hash and on the same thread.
///
/// A value type: a copy goes on from the same position.
package protocol BodyReader: Sendable {
    /// The next bytes; valid during the call.
    mutating func read(_ bytes: UnsafeRawBufferPointer)
}
