import CZlib

/// Bytes as a server sends them under a content coding.
package enum Packed {
    package static func gzip(_ bytes: [UInt8]) -> [UInt8] { pack(bytes, bits: 15 + 16) }
    /// Deflate in the zlib format, as RFC 9110 has it.
    package static func zlib(_ bytes: [UInt8]) -> [UInt8] { pack(bytes, bits: 15) }
    /// Deflate as some servers send it.
    package static func deflate(_ bytes: [UInt8]) -> [UInt8] { pack(bytes, bits: -15) }

    private static func pack(_ bytes: [UInt8], bits: Int32) -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        let code = deflateInit2_(&stream, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        precondition(code == Z_OK, "no memory to pack a test's bytes")
        defer { deflateEnd(&stream) }
        var input = bytes
        return input.withUnsafeMutableBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&stream, UInt(input.count)))) { output, count in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                precondition(CZlib.deflate(&stream, Z_FINISH) == Z_STREAM_END)
                count = output.count - Int(stream.avail_out)
            }
        }
    }
}
