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

    /// Hands out the bytes without copying them: a staged file is mapped.
    func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws -> Value {
        switch self {
        case .memory(let bytes): try bytes.withUnsafeBytes { try body($0) }
        case .staged(let object): try object.withMappedBytes { try body($0) }
        }
    }

    /// A copy of them.
    func load() throws(KingfisherError) -> [UInt8] {
        if case .memory(let bytes) = self { return bytes }
        do {
            return try withBytes { (bytes) throws(Never) in [UInt8](bytes) }
        } catch let error as StorageError {
            throw KingfisherError(reading: error)
        } catch {
            preconditionFailure("reading throws storage errors only: \(error)")
        }
    }
}
