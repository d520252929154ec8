import KFImaging
import KFStorage

extension RetrieveImageResult {
    /// The encoded image: of one that nothing was done to, the bytes as they came. Throws `taskCancelled` (1003) when the
    /// task is cancelled before the work on it begins.
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

    /// The pixels. Those of an image in memory are made once, and kept beside its bytes as far as the cost limit allows.
    /// Throws as `data()` does.
    public func image() async throws(KingfisherError) -> Image {
        let image = try await decoded()
        return terms.modifier?(image) ?? image
    }

    private func decoded() async throws(KingfisherError) -> Image {
        if case .memory(let cached, _) = content, let image = cached.image { return image }
        return try await unlessCancelled { [self] () throws(KingfisherError) in
            guard case .memory(let cached, let cache) = content else { return try decode(loadData()) }
            // Another call may have made the pixels while this one waited for a thread.
            if let image = cached.image { return image }
            let image = try decode(loadData())
            cache.keep(image, of: cached, EntryKey(key: key, identifier: identifier))
            return image
        }
    }

    private func decode(_ bytes: [UInt8]) throws(KingfisherError) -> Image {
        do throws(ImagingError) {
            return try WorkMemory.shared.holding(
                WorkMemory.estimate(for: bytes, DefaultImageProcessor(), terms.processing)
            ) { () throws(ImagingError) in
                try ImageDecoder.decode(bytes, options: terms.processing.decode)
            }
        } catch {
            throw KingfisherError(processing: error, identifier: identifier)
        }
    }

    private var bytesAtHand: [UInt8]? {
        switch content {
        case .bytes(let bytes): bytes
        case .memory(let cached, _): cached.bytes
        case .file, .stored: nil
        }
    }

    /// As `data()`, on the calling thread.
    package func loadData() throws(KingfisherError) -> [UInt8] {
        switch content {
        case .bytes(let bytes): return bytes
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
