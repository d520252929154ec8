import KFImaging
import KFStorage

/// Bytes that wait to be stored: in memory, or in a file of the cache already.
enum PendingBytes: Sendable {
    case memory([UInt8])
    case staged(StagedObject)
}

extension PendingBytes {
    /// In bytes.
    var size: Int64 {
        switch self {
        case .memory(let bytes): Int64(bytes.count)
        case .staged(let object): object.size
        }
    }

    /// Hands out the bytes without copying them: a staged file is mapped, and what has been passed leaves memory.
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

    /// A copy of them.
    func load() throws(KingfisherError) -> [UInt8] {
        switch self {
        case .memory(let bytes): return bytes
        case .staged(let object):
            do { return try object.loadWritten() } catch { throw KingfisherError(reading: error) }
        }
    }
}

extension ArrivingImage: BodyReader {}
