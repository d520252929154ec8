import KFImaging
import KFStorage
import KFSystem
import KFTerms

extension RetrieveImageResult {
    /// Returns the encoded image; for an unprocessed image, the original bytes. Throws `taskCancelled` (1003) if the
    /// task is cancelled before the work begins.
    public func data() async throws(KingfisherError) -> [UInt8] {
        if let bytes = bytesAtHand { return bytes }
        return try await unlessCancelled { [self] () throws(KingfisherError) in try loadData() }
    }

    private func unlessCancelled<Value: Sendable>(
        _ work: @escaping @Sendable () throws(KingfisherError) -> Value
    ) async throws(KingfisherError) -> Value {
        guard let value = try await WorkerPool.processing.runUnlessCancelled(work) else {
            throw .requestError(reason: .taskCancelled)
        }
        return value
    }

    /// Returns the decoded image. The pixels of an image in memory are decoded once, and kept beside its bytes within
    /// the cost limit.
    ///
    /// A cached image that turns out to be damaged is removed and retrieved again, once. If that fails too, the error
    /// is the decoder's (4001). Cancellation is as in ``data()``.
    public func image() async throws(KingfisherError) -> Image {
        terms.modified(try await decoded())
    }

    /// Returns the decoded image before the modifier.
    func decoded() async throws(KingfisherError) -> Image {
        if case .memory(let cached, _) = content, let image = cached.image { return image }
        switch try await unlessCancelled({ [self] () throws(KingfisherError) in try decoding() }) {
        case .success(let image): return image
        case .failure(let failure):
            guard let repairer, let asked else { throw failure }
            do throws(KingfisherError) {
                return try await repairer.repaired(asked, name, sha256: facts.sha256)
            } catch {
                throw error.isCancellation ? error : failure
            }
        }
    }

    /// Returns the pixels, or the error of a damaged image. Throws any other error.
    private func decoding() throws(KingfisherError) -> Result<Image, KingfisherError> {
        // Another call may have made the pixels while this one waited for a thread.
        if case .memory(let cached, _) = content, let image = cached.image { return .success(image) }
        let bytes = try loadData()
        do throws(ImagingError) {
            let image = try WorkMemory.shared.holding(
                WorkMemory.estimate(for: bytes, DefaultImageProcessor(), terms.processing)
            ) { () throws(ImagingError) in
                try terms.serializer.image(with: bytes, options: terms.processing.decode)
            }
            if case .memory(let cached, let cache) = content { cache.keep(image, of: cached, name) }
            return .success(image)
        } catch {
            let failure = KingfisherError(processing: error, identifier: identifier)
            guard error.isDamage else { throw failure }
            // The next retrieval finds the damaged file and repairs it.
            if case .memory(_, let cache) = content { cache.memory.remove(name) }
            return .failure(failure)
        }
    }

    private var bytesAtHand: [UInt8]? {
        switch content {
        case .bytes(let bytes, _, _): bytes
        case .memory(let cached, _): cached.bytes
        case .file, .stored: nil
        }
    }

    /// Returns the encoded image on the calling thread. Blocks.
    package func loadData() throws(KingfisherError) -> [UInt8] {
        switch content {
        case .bytes(let bytes, _, _): return bytes
        case .file(let file): return try file.readAll()
        case .stored(let stored): return try stored.readAll()
        case .memory(let cached, _):
            if let bytes = cached.bytes { return bytes }
            guard let image = cached.image else { return [] }
            do {
                return try terms.serializer.data(for: image, original: facts.format).bytes
            } catch {
                throw KingfisherError(processing: error, identifier: identifier)
            }
        }
    }
}

extension ImagingError {
    /// Whether the bytes are damaged. Limits and unsupported features do not count.
    fileprivate var isDamage: Bool {
        switch self {
        case .notAnImage, .truncated, .corrupt: true
        default: false
        }
    }
}
