import Glibc
import KFImaging
import KFStorage
import KFSystem

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

    /// The pixels. Those of an image in memory are made once, and kept beside its bytes as far as the cost limit allows. A
    /// cached image that turns out to be damaged is removed and retrieved again, once; when that fails too, the error is
    /// the decoder's (4001). Throws as `data()` does.
    public func image() async throws(KingfisherError) -> Image {
        terms.modified(try await decoded())
    }

    private enum Decoding {
        case image(Image)
        case damaged(KingfisherError)
    }

    /// The pixels, before the modifier has its say.
    func decoded() async throws(KingfisherError) -> Image {
        if case .memory(let cached, _) = content, let image = cached.image { return image }
        switch try await unlessCancelled({ [self] () throws(KingfisherError) in try decoding() }) {
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

    private func decoding() throws(KingfisherError) -> Decoding {
        // Another call may have made the pixels while this one waited for a thread.
        if case .memory(let cached, _) = content, let image = cached.image { return .image(image) }
        let bytes = try loadData()
        do throws(ImagingError) {
            let image = try WorkMemory.shared.holding(
                WorkMemory.estimate(for: bytes, DefaultImageProcessor(), terms.processing)
            ) { () throws(ImagingError) in
                try terms.serializer.image(with: bytes, options: terms.processing.decode)
            }
            if case .memory(let cached, let cache) = content {
                cache.keep(image, of: cached, EntryKey(key: key, identifier: identifier))
            }
            return .image(image)
        } catch {
            let failure = KingfisherError(processing: error, identifier: identifier)
            guard error.isDamage else { throw failure }
            // The next retrieval finds the file, and heals that.
            if case .memory(_, let cache) = content {
                cache.memory.remove(EntryKey(key: key, identifier: identifier))
            }
            return .damaged(failure)
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

extension ImagingError {
    /// The bytes are not a whole image; nothing about limits, or what kf cannot do.
    fileprivate var isDamage: Bool {
        switch self {
        case .notAnImage, .truncated, .corrupt: true
        default: false
        }
    }
}

/// Where a result is written.
public enum OutputTarget: Sendable {
    /// A file, which appears as a whole or not at all.
    case file(String)
    /// Standard output, which stays open.
    case standardOutput
}

extension RetrieveImageResult {
    /// Writes the encoded image. Throws `outputFailed` (4002).
    public func write(to target: OutputTarget) async throws(KingfisherError) {
        try await WorkerPool.exporting.run { [self] () throws(KingfisherError) in try writeNow(to: target) }
    }

    /// As `write(to:)`, on the calling thread.
    package func writeNow(to target: OutputTarget) throws(KingfisherError) {
        if case .file(let path) = target, case .file(let cached) = content {
            let output = try OutputFile.open(path)
            do { try cached.copy(to: output.file) } catch { throw OutputFile.failure(error) }
            try output.commit()
        } else {
            try target.write(loadData())
        }
    }
}

extension OutputTarget {
    /// Writes bytes. With `isPrivate`, a file that was not there is readable by its owner alone. Throws `outputFailed`
    /// (4002); blocks.
    package func write(_ bytes: [UInt8], isPrivate: Bool = false) throws(KingfisherError) {
        switch self {
        case .file(let path):
            let output = try OutputFile.open(path, isPrivate: isPrivate)
            try Self.write(bytes, to: output.file)
            try output.commit()
        case .standardOutput:
            let duplicate: FileDescriptor
            do {
                let raw = try retry("dup", "standard output") { dup(STDOUT_FILENO) }
                duplicate = FileDescriptor(taking: raw, path: "standard output")
            } catch {
                throw OutputFile.failure(error)
            }
            try Self.write(bytes, to: duplicate)
        }
    }

    private static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor) throws(KingfisherError) {
        do {
            try bytes.withUnsafeBytes { bytes in Result { () throws(StorageError) in try file.write(bytes) } }.get()
        } catch {
            throw OutputFile.failure(error)
        }
    }
}

extension WorkerPool {
    /// For reading and writing what users see.
    static let exporting = WorkerPool(label: "kf.export", width: 4)
}
