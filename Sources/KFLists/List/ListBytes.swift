import CZlib
import KFStorage
import Synchronization

/// The decompressed bytes of a list, read block by block. At most one compressed and one decompressed block are in
/// memory.
///
/// Blocks on its descriptor. Used by one thread at a time.
struct ListBytes: ~Copyable, Sendable {
    private static let block = 1 << 16

    private let file: FileDescriptor
    private let bell: Bell
    /// Whether reading never waits, so that the bell need not end it.
    private let isRegular: Bool
    /// Whether the bell has ended the bytes.
    private(set) var wasStopped = false
    private var inflater: GzipInflater?
    private var isSniffed = false
    private var atEnd = false
    private var bytesRead: Int64 = 0
    /// The number of decompressed bytes that `next` has returned.
    private(set) var given: Int64 = 0
    /// The corresponding position in the file, in bytes.
    var position: Int64 { bytesRead - Int64(inflater?.waiting ?? 0) }

    /// Creates a reader. Ringing the bell ends the bytes, unless they are those of a regular file.
    init(_ file: consuming FileDescriptor, isRegular: Bool, bell: Bell) {
        self.file = file
        self.isRegular = isRegular
        self.bell = bell
    }

    /// Returns the bytes since the last call; empty at the end. Throws `ListProblem.damaged` where compressed bytes
    /// break off, after returning those before.
    mutating func next() throws -> [UInt8] {
        let bytes = try unpacked()
        given += Int64(bytes.count)
        return bytes
    }

    private mutating func unpacked() throws -> [UInt8] {
        while !atEnd {
            if let inflater {
                let bytes = try inflater.next()
                if !bytes.isEmpty { return bytes }
            }
            let packed = try read()
            if packed.isEmpty { return try end() }
            if !isSniffed {
                isSniffed = true
                // The second byte may not have arrived yet. No list of text begins with the first.
                if packed[0] == GzipInflater.magic { inflater = try GzipInflater() }
            }
            guard let inflater else { return packed }
            inflater.feed(packed)
        }
        return []
    }

    private mutating func end() throws -> [UInt8] {
        atEnd = true
        try inflater?.finish()
        return []
    }

    private mutating func read() throws(StorageError) -> [UInt8] {
        let isReadable = isRegular ? true : try bell.waits(for: file)
        guard isReadable else {
            wasStopped = true
            // The reader was stopped, so an incomplete gzip member is no damage.
            inflater = nil
            return []
        }
        var problem: StorageError?
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.block) { buffer, count in
            do throws(StorageError) {
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        bytesRead += Int64(bytes.count)
        return bytes
    }
}

/// A streaming gzip decompressor for concatenated members, like gunzip. Each piece has a bounded size, regardless of
/// the compression ratio.
final class GzipInflater: Sendable {
    static let magic: UInt8 = 0x1f

    private struct Inflation: ~Copyable {
        /// Allocated separately, because zlib keeps its address. `unsafe` is safe: it is only used under the lock of
        /// the state.
        nonisolated(unsafe) let stream: UnsafeMutablePointer<z_stream>
        /// Compressed bytes, and how many of them zlib has consumed.
        var input: [UInt8] = []
        var taken = 0
        var isInMember = false
        /// Whether the last piece was full, so that zlib may hold more.
        var mayHoldMore = false
        var problem: ListProblem?

        deinit {
            inflateEnd(stream)
            stream.deallocate()
        }
    }

    private static let block = 1 << 17

    private let state: Mutex<Inflation>

    /// Throws `ListProblem.damaged` if memory is short.
    init() throws(ListProblem) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 bits of window, plus 16 to accept only gzip.
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            stream.deallocate()
            throw .damaged("not enough memory to decompress it")
        }
        state = Mutex(Inflation(stream: stream))
    }

    /// Sets the next compressed bytes, after `next` has returned nothing.
    func feed(_ bytes: [UInt8]) {
        state.withLock { state in
            state.input = bytes
            state.taken = 0
        }
    }

    /// Returns the next piece, at most 128 KiB; empty if it needs more input. Bytes before damage are returned first;
    /// the next call throws.
    func next() throws(ListProblem) -> [UInt8] {
        try state.withLock { state throws(ListProblem) in
            if let problem = state.problem { throw problem }
            while state.taken < state.input.count || state.mayHoldMore {
                let piece = Self.step(&state)
                if !piece.isEmpty { return piece }
                if let problem = state.problem { throw problem }
            }
            return []
        }
    }

    /// The number of input bytes that zlib has not consumed yet.
    var waiting: Int { state.withLock { $0.input.count - $0.taken } }

    /// Checks that the input ends with a complete member.
    func finish() throws(ListProblem) {
        try state.withLock { state throws(ListProblem) in
            if let problem = state.problem { throw problem }
            if state.isInMember { throw .damaged("the gzip data is truncated") }
        }
    }

    private static func step(_ state: inout Inflation) -> [UInt8] {
        let stream = state.stream
        var code = Z_OK
        let start = state.taken
        if start < state.input.count { state.isInMember = true }
        var left = 0
        let piece = [UInt8](unsafeUninitializedCapacity: block) { output, count in
            state.input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress.map { $0 + start }
                stream.pointee.avail_in = UInt32(input.count - start)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                code = inflate(stream, Z_NO_FLUSH)
                left = Int(stream.pointee.avail_in)
            }
            count = output.count - Int(stream.pointee.avail_out)
        }
        state.taken = state.input.count - left
        state.mayHoldMore = false
        switch code {
        case Z_STREAM_END:
            state.isInMember = false
            inflateReset(stream)
        case Z_OK, Z_BUF_ERROR:
            state.mayHoldMore = stream.pointee.avail_out == 0
            // zlib always consumes its input. If it did not, this check prevents an endless loop.
            if left > 0, piece.isEmpty, state.taken == start { state.problem = .damaged("the gzip data is damaged") }
        default:
            let detail = stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)"
            state.problem = .damaged("the gzip data is damaged: \(detail)")
        }
        return piece
    }
}
