import Glibc

package enum TransferMethod: Sendable, Equatable {
    case get, head, put
    /// MKCOL of WebDAV (RFC 4918, 9.3).
    case makeCollection

    var name: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .put: "PUT"
        case .makeCollection: "MKCOL"
        }
    }

    /// The name of a method for which libcurl has no option.
    var customName: String? { self == .makeCollection ? name : nil }
}

package enum TransferBody: Sendable {
    case bytes([UInt8])
    case file(TransferFile)

    /// The number of bytes that the request announces and sends.
    package var size: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.size
        }
    }

    /// Copies bytes of the body to the buffer and returns their number: 0 only at the end of the body.
    func read(from offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int {
        let count = Int(min(Int64(buffer.count), max(0, size - offset)))
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        switch self {
        case .bytes(let bytes):
            bytes.withUnsafeBytes {
                room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...].prefix(count)))
            }
        case .file(let file): try file.read(from: offset, into: room)
        }
        return count
    }
}

/// An open regular file with its size in bytes. Closes the descriptor when it is released.
package final class TransferFile: Sendable {
    let size: Int64
    private let descriptor: Int32

    /// Takes ownership of the descriptor. Reads leave its shared offset alone.
    package init(descriptor: Int32, size: Int64) {
        self.descriptor = descriptor
        self.size = size
    }

    deinit { close(descriptor) }

    /// Fills the buffer. Throws if the file ends earlier.
    fileprivate func read(
        from offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(TransferError) {
        var count = 0
        while count < buffer.count {
            let got = pread(
                descriptor, buffer.baseAddress! + count, buffer.count - count, off_t(offset) + off_t(count))
            if got > 0 {
                count += got
            } else if got == 0 {
                throw .engine(detail: "the file is shorter than expected")
            } else if errno != EINTR {
                throw .engine(detail: "the file cannot be read: \(String(cString: strerror(errno)))")
            }
        }
    }
}
