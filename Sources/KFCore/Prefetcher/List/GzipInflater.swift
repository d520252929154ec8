import CZlib
import Synchronization

/// Unpacks gzip as it comes, one member after the other, as gunzip does.
final class GzipInflater: Sendable {
    static let magic: UInt8 = 0x1f

    private struct State: ~Copyable {
        /// At an address of its own: zlib keeps it. Unsafe in name alone: it is reached under the lock of the state only.
        nonisolated(unsafe) let stream: UnsafeMutablePointer<z_stream>
        var isInMember = false
        var problem: ListProblem?

        deinit {
            inflateEnd(stream)
            stream.deallocate()
        }
    }

    private static let block = 1 << 17

    private let state: Mutex<State>

    /// Throws `ListProblem.damaged` when there is no memory for it.
    init() throws(ListProblem) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 bits of window, and 16 for "gzip and nothing else".
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            stream.deallocate()
            throw .damaged("no memory to unpack it")
        }
        state = Mutex(State(stream: stream))
    }

    /// All that these bytes unpack to, at most some 1000 times as much. What came before damage is given out first; the
    /// next call throws.
    func unpack(_ bytes: [UInt8]) throws(ListProblem) -> [UInt8] {
        try state.withLock { state throws(ListProblem) in
            if let problem = state.problem { throw problem }
            var result: [UInt8] = []
            var input = bytes
            input.withUnsafeMutableBufferPointer { input in
                state.stream.pointee.next_in = input.baseAddress
                state.stream.pointee.avail_in = UInt32(input.count)
                while state.problem == nil, Self.step(&state, into: &result) {}
            }
            if result.isEmpty, let problem = state.problem { throw problem }
            return result
        }
    }

    /// The packed bytes end here.
    func finish() throws(ListProblem) {
        try state.withLock { state throws(ListProblem) in
            if let problem = state.problem { throw problem }
            if state.isInMember { throw .damaged("the gzip data breaks off") }
        }
    }

    /// False when there is no more to be had of the input.
    private static func step(_ state: inout State, into result: inout [UInt8]) -> Bool {
        let stream = state.stream
        if stream.pointee.avail_in > 0 { state.isInMember = true }
        var code = Z_OK
        let piece = [UInt8](unsafeUninitializedCapacity: block) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(buffer.count)
            code = inflate(stream, Z_NO_FLUSH)
            count = buffer.count - Int(stream.pointee.avail_out)
        }
        result += piece
        switch code {
        case Z_STREAM_END:
            state.isInMember = false
            inflateReset(stream)
            return stream.pointee.avail_in > 0
        case Z_OK, Z_BUF_ERROR:
            return stream.pointee.avail_out == 0
        default:
            let detail = stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)"
            state.problem = .damaged("the gzip data is damaged: \(detail)")
            return false
        }
    }
}
