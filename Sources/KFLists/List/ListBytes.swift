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
    private(set) var wasStopped = false
    private var inflater: GzipInflater?
    private var isSniffed = false
    private var atEnd = false
    private var bytesRead: Int64 = 0
    /// The number of decompressed bytes that `next` has returned.
    private(set) var given: Int64 = 0
    /// The corresponding position in the file, in bytes.
    private(set) var position: Int64 = 0

    /// Creates a reader. Ringing the bell ends the bytes, unless they are those of a regular file.
    init(_ file: consuming FileDescriptor, isRegular: Bool, bell: Bell) {
        self.file = file
        self.isRegular = isRegular
        self.bell = bell
    }

    /// Returns the bytes since the last call; empty at the end. Throws `ListProblem.damaged` where compressed bytes
    /// break off, after returning those before.
    mutating func next() throws -> [UInt8] {
        defer { position = bytesRead - Int64(inflater?.waiting ?? 0) }
        let bytes = try unpacked()
        given += Int64(bytes.count)
        return bytes
    }

    private mutating func unpacked() throws -> [UInt8] {
        while !atEnd {
            if let bytes = try inflater?.next(), !bytes.isEmpty { return bytes }
            let packed = try read()
            if packed.isEmpty {
                atEnd = true
                try inflater?.finish()
                return []
            }
            if !isSniffed {
                isSniffed = true
                // The second byte may not have arrived yet. No list of text begins with the first.
                if packed[0] == GzipInflater.magic { inflater = try GzipInflater() }
            }
            if inflater == nil { return packed }
            inflater?.feed(packed)
        }
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
        var read = Result<Int, StorageError>.success(0)
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.block) { buffer, count in
            read = Result { () throws(StorageError) in try file.read(into: UnsafeMutableRawBufferPointer(buffer)) }
            count = (try? read.get()) ?? 0
        }
        bytesRead += Int64(try read.get())
        return bytes
    }
}

/// A streaming gzip decompressor for concatenated members, like gunzip. Zeros behind a member are padding. Each piece has a bounded size, regardless of
/// the compression ratio.
struct GzipInflater: ~Copyable, Sendable {
    static let magic: UInt8 = 0x1f
    private static let block = 1 << 17

    /// Allocated separately, because zlib keeps its address. `unsafe` is safe: one thread at a time uses the list's bytes.
    private nonisolated(unsafe) let stream: UnsafeMutablePointer<z_stream>
    /// Compressed bytes, and how many of them zlib has consumed.
    private var input: [UInt8] = []
    private var taken = 0
    private var isInMember = false
    private var hasEndedMember = false
    /// Whether the last piece was full, so that zlib may hold more.
    private var mayHoldMore = false
    private var problem: ListProblem?

    /// Throws `ListProblem.damaged` if memory is short.
    init() throws(ListProblem) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 bits of window, plus 16 to accept only gzip.
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            stream.deallocate()
            throw .damaged("not enough memory to decompress it")
        }
        self.stream = stream
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Sets the next compressed bytes, after `next` has returned nothing.
    mutating func feed(_ bytes: [UInt8]) { (input, taken) = (bytes, 0) }

    /// Returns the next piece, at most 128 KiB; empty if it needs more input. Bytes before damage are returned first;
    /// the next call throws.
    mutating func next() throws(ListProblem) -> [UInt8] {
        if let problem { throw problem }
        while waiting > 0 || mayHoldMore {
            let piece = step()
            if !piece.isEmpty { return piece }
            if let problem { throw problem }
        }
        return []
    }

    /// The number of input bytes that zlib has not consumed yet.
    var waiting: Int { input.count - taken }

    /// Checks that the input ends with a complete member.
    func finish() throws(ListProblem) {
        if let problem { throw problem }
        if isInMember { throw .damaged("the gzip data is truncated") }
    }

    private mutating func step() -> [UInt8] {
        if hasEndedMember, !isInMember {
            while taken < input.count, input[taken] == 0 { taken += 1 }
            if taken == input.count { return [] }
        }
        var code = Z_OK
        let start = taken
        if start < input.count { isInMember = true }
        var left = 0
        let (stream, block) = (stream, Self.block)
        let piece = [UInt8](unsafeUninitializedCapacity: block) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress.map { $0 + start }
                stream.pointee.avail_in = UInt32(clamping: input.count - start)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(clamping: output.count)
                code = inflate(stream, Z_NO_FLUSH)
                left = Int(stream.pointee.avail_in)
            }
            count = output.count - Int(stream.pointee.avail_out)
        }
        taken = input.count - left
        mayHoldMore = false
        switch code {
        case Z_STREAM_END:
            (isInMember, hasEndedMember) = (false, true)
            inflateReset(stream)
        case Z_OK, Z_BUF_ERROR:
            mayHoldMore = stream.pointee.avail_out == 0
            // zlib always consumes its input. If it did not, this check prevents an endless loop.
            if left > 0, piece.isEmpty, taken == start { problem = .damaged("the gzip data is damaged") }
        default:
            let detail = stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)"
            problem = .damaged("the gzip data is damaged: \(detail)")
        }
        return piece
    }
}
