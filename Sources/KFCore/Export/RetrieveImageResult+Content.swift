import KFImaging
import KFStorage

extension RetrieveImageResult {
    /// The encoded image: of one that nothing was done to, the bytes as they came.
    public func data() async throws(KingfisherError) -> [UInt8] {
        if case .bytes(let bytes) = content { return bytes }
        return try await WorkerPool.processing.run { [self] () throws(KingfisherError) in try loadData() }
    }

    /// The pixels. A cached image that turns out to be damaged is removed and retrieved again, once; when that fails too,
    /// the error is the decoder's (4001).
    public func image() async throws(KingfisherError) -> Image {
        terms.modified(try await decoded())
    }

    private enum Decoding {
        case image(Image)
        case damaged(KingfisherError)
    }

    /// The pixels, before the modifier has its say.
    func decoded() async throws(KingfisherError) -> Image {
        if case .image(let image) = content { return image }
        let decoding = try await WorkerPool.processing.run { [self] () throws(KingfisherError) -> Decoding in
            let bytes = try loadData()
            do throws(ImagingError) {
                return .image(try terms.serializer.image(with: bytes, options: terms.processing.decode))
            } catch {
                let failure = KingfisherError(processing: error, identifier: identifier)
                guard error.isDamage else { throw failure }
                return .damaged(failure)
            }
        }
        switch decoding {
        case .image(let image): return image
        case .damaged(let failure):
            guard let repair else { throw failure }
            do throws(KingfisherError) {
                return try await repair.by.repaired(
                    originalSource, repair.box, key: key, identifier: identifier, sha256: facts.sha256)
            } catch {
                throw error.isCancellation ? error : failure
            }
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

extension ImagingError {
    /// The bytes are not a whole image; nothing about limits, or what kf cannot do.
    fileprivate var isDamage: Bool {
        switch self {
        case .notAnImage, .truncated, .corrupt: true
        default: false
        }
    }
}
