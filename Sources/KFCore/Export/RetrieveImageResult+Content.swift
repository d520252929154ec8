import Glibc
import KFImaging
import KFLists
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

/// The destination of a result.
public enum OutputTarget: Sendable {
    /// A file, which is replaced as a whole or not at all.
    case file(String)
    /// Standard output, which stays open.
    case standardOutput
}

/// The way in which files are written.
public struct OutputOptions: Sendable {
    /// Whether a file that exists is replaced.
    public var replaces: Bool
    /// Whether missing parent directories are created.
    public var createsFolders: Bool

    /// Creates the options. By default files are replaced, and the parent directory must exist.
    public init(replaces: Bool = true, createsFolders: Bool = false) {
        self.replaces = replaces
        self.createsFolders = createsFolders
    }
}

extension RetrieveImageResult {
    /// Writes the encoded image. A file that already has the same bytes is left as it is. Returns false if `options` let
    /// an existing file be. Throws `outputFailed` (4002).
    @discardableResult
    public func write(
        to target: OutputTarget, _ options: OutputOptions = OutputOptions()
    ) async throws(KingfisherError) -> Bool {
        try await WorkerPool.exporting.run { [self] () throws(KingfisherError) in try writeNow(to: target, options) }
    }

    /// Writes the encoded image on the calling thread. Blocks.
    @discardableResult
    package func writeNow(
        to target: OutputTarget, _ options: OutputOptions = OutputOptions()
    ) throws(KingfisherError) -> Bool {
        guard case .file(let path) = target else {
            try target.write(loadData())
            return true
        }
        if options.createsFolders, let slash = path.unicodeScalars.lastIndex(of: "/") {
            let folder = String(path.unicodeScalars[..<slash])
            if !folder.isEmpty { try OutputDirectory.make(folder, parents: true) }
        }
        if !options.replaces, OutputFile.exists(path) { return false }
        if OutputFile.holds(path, size: facts.bytes, sha256: try digest()) { return true }
        let bytes: [UInt8]?
        if case .file = content { bytes = nil } else { bytes = try loadData() }
        let output = try OutputFile.open(path)
        if let bytes {
            try OutputTarget.write(bytes, to: output.file)
        } else if case .file(let cached) = content {
            do { try cached.copy(to: output.file) } catch { throw OutputFile.failure(error) }
        }
        return try output.commit(replacing: options.replaces)
    }

    /// The SHA-256 of the encoded image, 64 hexadecimal digits. Blocks.
    func digest() throws(KingfisherError) -> String {
        if let sha256 = facts.sha256 { return sha256 }
        return try loadData().withUnsafeBytes { SHA256.hash($0) }.hex
    }
}

extension OutputTarget {
    /// Writes bytes. With `isPrivate`, a new file is readable by its owner only. Throws `outputFailed` (4002). Blocks.
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

    static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor) throws(KingfisherError) {
        do {
            try bytes.withBytes { bytes throws(StorageError) in try file.write(bytes) }
        } catch {
            throw OutputFile.failure(error)
        }
    }
}
