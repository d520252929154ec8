import CZlib

/// Decodes a body in the gzip or deflate coding as it comes, and counts what that makes: 64 KiB of gzip can hold 64 MiB.
/// A body that does not begin like gzip is passed on unchanged, because a wrong Content-Encoding damages nothing.
final class BodyInflater {
    private enum State {
        /// Too few bytes have come to tell.
        case begin
        case inflating
        /// A stream has ended; gzip may go on with another member.
        case ended
        case passing
    }

    typealias Receiver = (UnsafeRawBufferPointer) throws(SinkError) -> Void

    private static let blockSize = 64 << 10

    private let coding: ContentCoding
    private let limit: Int64
    private var state = State.begin
    private var held: [UInt8] = []
    private var count: Int64 = 0
    /// At an address of its own: zlib keeps it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var hasStream = false

    /// `limit`: decoded bytes at most. Nil for codings that are not decoded.
    init?(_ coding: ContentCoding, limit: Int64) {
        guard coding == .gzip || coding == .deflate else { return nil }
        self.coding = coding
        self.limit = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if hasStream { inflateEnd(stream) }
        stream.deallocate()
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ pass: Receiver) throws(TransferError) {
        guard case .begin = state else { return try take(bytes, pass) }
        held += bytes
        guard held.count >= 2 else { return }
        try begin()
        let first = held
        held = []
        let result = first.withUnsafeBytes { bytes in
            Result { () throws(TransferError) in try take(bytes, pass) }
        }
        try result.get()
    }

    /// The body has ended. A stream that breaks off is an error, however long the body was said to be.
    func finish(_ pass: Receiver) throws(TransferError) {
        switch state {
        case .inflating: throw damage("it breaks off")
        case .begin where !held.isEmpty:
            state = .passing
            let result = held.withUnsafeBytes { bytes in
                Result { () throws(TransferError) in try give(bytes, pass) }
            }
            try result.get()
        case .begin, .ended, .passing: break
        }
    }

    private func begin() throws(TransferError) {
        let bits: Int32
        switch coding {
        case .gzip:
            guard held[0] == 0x1f, held[1] == 0x8b else {
                state = .passing
                return
            }
            // 15 bits of window, and 16 for "gzip and nothing else".
            bits = 15 + 16
        default:
            let isZlib = held[0] & 0x0f == 8 && (Int(held[0]) << 8 | Int(held[1])) % 31 == 0
            bits = isZlib ? 15 : -15
        }
        guard inflateInit2_(stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .engine(detail: "no memory to decode a body")
        }
        hasStream = true
        state = .inflating
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ pass: Receiver) throws(TransferError) {
        if case .passing = state { return try give(bytes, pass) }
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
        stream.pointee.avail_in = UInt32(bytes.count)
        while try step(pass) {}
    }

    /// False when there is no more to be had of the input.
    private func step(_ pass: Receiver) throws(TransferError) -> Bool {
        if case .ended = state {
            // What follows the last member is padding.
            guard coding == .gzip, stream.pointee.avail_in > 0, stream.pointee.next_in.pointee == 0x1f else {
                return false
            }
            inflateReset(stream)
            state = .inflating
        }
        var code = Z_OK
        let block = [UInt8](unsafeUninitializedCapacity: Self.blockSize) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(buffer.count)
            code = inflate(stream, Z_NO_FLUSH)
            count = buffer.count - Int(stream.pointee.avail_out)
        }
        let isFull = block.count == Self.blockSize
        let result = block.withUnsafeBytes { bytes in
            Result { () throws(TransferError) in try give(bytes, pass) }
        }
        try result.get()
        switch code {
        case Z_STREAM_END:
            state = .ended
            return true
        case Z_OK, Z_BUF_ERROR: return isFull
        default: throw damage(stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)")
        }
    }

    private func give(_ bytes: UnsafeRawBufferPointer, _ pass: Receiver) throws(TransferError) {
        guard !bytes.isEmpty else { return }
        count += Int64(bytes.count)
        guard count <= limit else { throw .tooLarge(limit: limit) }
        do throws(SinkError) { try pass(bytes) } catch { throw .sink(error) }
    }

    private func damage(_ detail: String) -> TransferError {
        .encodingDamaged(coding.name ?? "", detail: detail)
    }
}

/// The coding that a body came with. Only `identity` is asked for; the others come from servers that do not look at
/// Accept-Encoding, or from files that are stored encoded.
enum ContentCoding: Equatable {
    case identity
    case gzip
    /// In the zlib format or, as some servers send it, without.
    case deflate
    /// One that cannot be decoded, or several. The body is passed on as it comes: some servers name their images' type,
    /// or a character set, in Content-Encoding.
    case unknown(String)

    init(_ fields: HeaderFields) {
        guard fields.contains(.contentEncoding) else {
            self = .identity
            return
        }
        let names = fields.all(.contentEncoding)
            .flatMap { $0.split(separator: ",").map { $0.trimmingBlanks.lowercased() } }
            .filter { !$0.isEmpty && $0 != "identity" }
        switch names.count {
        case 0: self = .identity
        case 1 where names[0] == "gzip" || names[0] == "x-gzip": self = .gzip
        case 1 where names[0] == "deflate": self = .deflate
        default: self = .unknown(names.joined(separator: ", "))
        }
    }

    /// Nil for `identity`.
    var name: String? {
        switch self {
        case .identity: nil
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .unknown(let name): name
        }
    }
}
