import CZlib
import KFSystem

/// Decodes a body in the gzip or deflate coding as it arrives, and limits the decoded size: 64 KiB of gzip can contain
/// 64 MiB. A body without gzip's signature is passed on unchanged: only its Content-Encoding is wrong.
final class BodyInflater {
    private enum Stage {
        /// Fewer than 2 bytes have arrived: too few to recognize the format.
        case begin
        case inflating
        /// A stream has ended; another gzip member may follow.
        case ended
        /// The body is passed on unchanged.
        case passing
    }

    private static let blockSize = 64 << 10

    private let coding: ContentCoding
    private let limit: Int64
    private var stage = Stage.begin
    private var held: [UInt8] = []
    private var count: Int64 = 0
    /// zlib's state, at a fixed address, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var hasStream = false

    fileprivate init(_ coding: ContentCoding, limit: Int64) {
        self.coding = coding
        self.limit = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if hasStream { inflateEnd(stream) }
        stream.deallocate()
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ sink: any TransferSink) throws(TransferError) {
        guard case .begin = stage else { return try take(bytes, sink) }
        held += bytes
        guard held.count >= 2 else { return }
        try begin()
        let first = held
        held = []
        try first.withBytes { bytes throws(TransferError) in try take(bytes, sink) }
    }

    /// Ends the body. Throws if the compressed stream is incomplete, even if the body has its announced length.
    func finish(_ sink: any TransferSink) throws(TransferError) {
        switch stage {
        case .inflating: throw damage("it ends early")
        case .begin where !held.isEmpty:
            stage = .passing
            try held.withBytes { bytes throws(TransferError) in try give(bytes, sink) }
        case .begin, .ended, .passing: break
        }
    }

    private func begin() throws(TransferError) {
        let bits: Int32
        switch coding {
        case .gzip:
            guard held[0] == 0x1f, held[1] == 0x8b else {
                stage = .passing
                return
            }
            // A window of 15 bits; 16 more selects gzip only.
            bits = 15 + 16
        default:
            let isZlib = held[0] & 0x0f == 8 && (Int(held[0]) << 8 | Int(held[1])) % 31 == 0
            bits = isZlib ? 15 : -15
        }
        guard inflateInit2_(stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .engine(detail: "out of memory while decoding a body")
        }
        hasStream = true
        stage = .inflating
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ sink: any TransferSink) throws(TransferError) {
        if case .passing = stage { return try give(bytes, sink) }
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
        stream.pointee.avail_in = UInt32(clamping: bytes.count)
        while try step(sink) {}
    }

    /// Decodes up to one block. Returns false when the input is used up.
    private func step(_ sink: any TransferSink) throws(TransferError) -> Bool {
        if case .ended = stage {
            // Bytes after the last member are padding.
            guard coding == .gzip, stream.pointee.avail_in > 0, stream.pointee.next_in.pointee == 0x1f else {
                return false
            }
            inflateReset(stream)
            stage = .inflating
        }
        var code = Z_OK
        let block = [UInt8](unsafeUninitializedCapacity: Self.blockSize) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(clamping: buffer.count)
            code = inflate(stream, Z_NO_FLUSH)
            count = buffer.count - Int(stream.pointee.avail_out)
        }
        let isFull = block.count == Self.blockSize
        try block.withBytes { bytes throws(TransferError) in try give(bytes, sink) }
        switch code {
        case Z_STREAM_END:
            stage = .ended
            return true
        case Z_OK, Z_BUF_ERROR: return isFull
        default: throw damage(stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)")
        }
    }

    private func give(_ bytes: UnsafeRawBufferPointer, _ sink: any TransferSink) throws(TransferError) {
        guard !bytes.isEmpty else { return }
        count += Int64(bytes.count)
        guard count <= limit else { throw .tooLarge(limit: limit) }
        try sink.take(bytes)
    }

    private func damage(_ detail: String) -> TransferError {
        .encodingDamaged(coding.name ?? "", detail: detail)
    }
}

/// The content coding of a response. Only `identity` is requested. Other codings come from servers that ignore
/// Accept-Encoding, or from files that are stored encoded.
enum ContentCoding: Equatable {
    case identity
    case gzip
    /// Deflate in the zlib format or, as some servers send it, raw.
    case deflate
    /// An unsupported coding, or several. The body is passed on unchanged: some servers put a media type or a character
    /// set into Content-Encoding.
    case unknown(String)

    init(_ fields: HeaderFields) {
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

    /// Returns a decoder that passes on at most `limit` decoded bytes. Nil for codings that are not decoded.
    func inflater(limit: Int64) -> BodyInflater? {
        self == .gzip || self == .deflate ? BodyInflater(self, limit: limit) : nil
    }

    /// The name of the coding; nil for `identity`.
    var name: String? {
        switch self {
        case .identity: nil
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .unknown(let name): name
        }
    }
}
