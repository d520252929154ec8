import KFImaging
import KFRemote
import KFStorage
import KFTerms

/// Bytes that are about to be stored or processed: in memory, already in a staged file, or in a file of the cache.
package enum PendingBytes: Sendable {
    case memory([UInt8])
    case staged(StagedObject)
    case cached(CachedFile)
}

extension PendingBytes {
    /// The size in bytes.
    var size: Int64 {
        switch self {
        case .memory(let bytes): Int64(bytes.count)
        case .staged(let object): object.size
        case .cached(let file): file.size
        }
    }

    /// Checks a body from an origin, a provider or a remote: whether it is a whole image, `object`, whose hash is
    /// `digest`, and the one that a remote's entry describes. A staged file is mapped, and the memory of bytes that were read is
    /// released.
    func checked(
        by inspector: ImageInspector, _ object: Digest? = nil, as expected: RemoteEntry? = nil, digest: Digest? = nil
    ) throws(KingfisherError) -> ImageInspector.Findings {
        func differs(_ what: String) -> KingfisherError {
            .responseError(reason: .damagedImage(detail: "its \(what) differs"))
        }
        if digest != object || size != expected?.size ?? size { throw differs("hash") }
        let findings: Result<ImageInspector.Findings, KingfisherError>
        switch self {
        case .memory, .cached:
            findings = try load().withUnsafeBytes { bytes in
                Result { () throws(KingfisherError) in try inspector.inspect(bytes) }
            }
        case .staged(let object):
            let arrived = object.reader as? ArrivingImage
            do throws(StorageError) {
                findings = try object.withMappedBytes { bytes, passed in
                    Result { () throws(KingfisherError) in
                        try inspector.inspect(bytes, passage: ReadPassage(over: arrived, passed))
                    }
                }
            } catch {
                throw KingfisherError(writing: error)
            }
        }
        let found = try findings.get()
        if let expected, found.format.rawValue != expected.format { throw differs("format") }
        return found
    }

    /// Returns the SHA-256 of the bytes. That of a file was computed while it was written.
    func digest() throws(KingfisherError) -> Digest {
        switch self {
        case .memory(let bytes): return bytes.withUnsafeBytes { SHA256.hash($0) }
        case .staged(let object):
            do { return try object.finishedDigest() } catch { throw KingfisherError(reading: error) }
        case .cached(let file): return file.entry.object.digest
        }
    }

    /// Returns a copy of the bytes. Those of a cached file are read within the memory that processing may take.
    func load(within limits: DecodeLimits? = nil) throws(KingfisherError) -> [UInt8] {
        switch self {
        case .memory(let bytes): return bytes
        case .staged(let object):
            do { return try object.loadWritten() } catch { throw KingfisherError(reading: error) }
        case .cached(let file):
            guard let limits else { return try file.readAll() }
            return try file.readAll(limit: limits.memory(fileBytes: Int(clamping: file.size)))
        }
    }
}

extension ArrivingImage: BodyReader {}
