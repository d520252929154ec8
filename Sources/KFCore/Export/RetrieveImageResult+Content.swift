import KFImaging
import KFStorage

extension RetrieveImageResult {
    /// The encoded image: of one that nothing was done to, the bytes as they came.
    public func data() async throws(KingfisherError) -> [UInt8] {
        switch content {
        case .bytes(let bytes): return bytes
        case .file(let file):
            return try await WorkerPool.exporting.run { () throws(KingfisherError) in try file.readAll() }
        case .stored(let stored):
            return try await WorkerPool.exporting.run { () throws(KingfisherError) in
                do throws(StorageError) {
                    return try FileDescriptor.open(stored.path, 0).readAll(expected: Int(stored.entry.object.size))
                } catch {
                    throw KingfisherError(reading: error)
                }
            }
        case .image(let image):
            return try await WorkerPool.processing.run { [self] () throws(KingfisherError) in
                do throws(ImagingError) {
                    return try options.cacheSerializer.data(for: image, original: facts.format).bytes
                } catch {
                    throw KingfisherError(processing: error, identifier: identifier)
                }
            }
        }
    }

    /// The pixels.
    public func image() async throws(KingfisherError) -> Image {
        if case .image(let image) = content { return image }
        let bytes = try await data()
        return try await WorkerPool.processing.run { [self] () throws(KingfisherError) in
            let decoded = bytes.withUnsafeBytes { bytes in
                Result { () throws(ImagingError) in
                    try ImageDecoder.decode(bytes, options: options.processing.decode)
                }
            }
            do throws(ImagingError) {
                return try decoded.get()
            } catch {
                throw KingfisherError(processing: error, identifier: identifier)
            }
        }
    }
}

extension WorkerPool {
    /// For reading and writing what users see.
    static let exporting = WorkerPool(label: "kf.export", width: 4)
}
