import KFImaging
import KFStorage

/// Bytes that are about to be stored, in memory or already in a staged file.
enum PendingBytes: Sendable {
    case memory([UInt8])
    case staged(StagedObject)
}

extension PendingBytes {
    /// The size in bytes.
    var size: Int64 {
        switch self {
        case .memory(let bytes): Int64(bytes.count)
        case .staged(let object): object.size
        }
    }

    /// Calls `body` with the bytes, without copying them. A staged file is mapped, and the memory of bytes that were
    /// read is released.
    func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer, ReadPassage) throws(Failure) -> Value
    ) throws -> Value {
        switch self {
        case .memory(let bytes): return try bytes.withUnsafeBytes { try body($0, .silent) }
        case .staged(let object):
            let arrived = object.reader as? ArrivingImage
            return try object.withMappedBytes { try body($0, ReadPassage(over: arrived, $1)) }
        }
    }

    /// Returns the SHA-256 of the bytes. That of a file was computed while it was written.
    func digest() throws(KingfisherError) -> Digest {
        switch self {
        case .memory(let bytes): return bytes.withUnsafeBytes { SHA256.hash($0) }
        case .staged(let object):
            do { return try object.finishedDigest() } catch { throw KingfisherError(reading: error) }
        }
    }

    /// Returns a copy of the bytes.
    func load() throws(KingfisherError) -> [UInt8] {
        switch self {
        case .memory(let bytes): return bytes
        case .staged(let object):
            do { return try object.loadWritten() } catch { throw KingfisherError(reading: error) }
        }
    }
}

extension ArrivingImage: BodyReader {}
