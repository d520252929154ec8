import KFImaging
import KFStorage

extension RetrieveImageResult {
    /// The encoded image: of one that nothing was done to, the bytes as they came.
    public func data() async throws(KingfisherError) -> [UInt8] {
        if case .bytes(let bytes) = content { return bytes }
        return try await WorkerPool.processing.run { [self] () throws(KingfisherError) in try loadData() }
    }

    /// The pixels.
    public func image() async throws(KingfisherError) -> Image {
        terms.modified(try await decoded())
    }

    private func decoded() async throws(KingfisherError) -> Image {
        if case .image(let image) = content { return image }
        return try await WorkerPool.processing.run { [self] () throws(KingfisherError) in
            try terms.image(of: try loadData(), identifier)
        }
    }

    /// As `data()`, on the calling thread.
    package func loadData() throws(KingfisherError) -> [UInt8] {
        switch content {
        case .bytes(let bytes): return bytes
        case .file(let file): return try file.readAll()
        case .stored(let stored): return try stored.readAll()
        case .image(let image):
            do {
                return try terms.serializer.data(for: image, original: facts.format).bytes
            } catch {
                throw KingfisherError(processing: error, identifier: identifier)
            }
        }
    }
}
