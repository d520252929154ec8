import Glibc
import KFStorage
import KFSystem

/// A source of image bytes other than the network. Kingfisher's `ImageDataProvider`.
public protocol ImageDataProvider: Sendable {
    /// The cache key. It must change when the bytes do.
    var cacheKey: String { get }
    /// The name in messages.
    var name: String { get }
    /// Returns the bytes of an image file. Called off the cooperative pool, so it may block as well as await. The task
    /// is cancelled when no caller waits for the image any more. An error other than `KingfisherError` is wrapped in
    /// ``KingfisherError/SourceErrorReason/dataProviderError(detail:error:)``.
    func data() async throws -> [UInt8]
}

/// A provider that never awaits. It is read without a task.
package protocol ImmediateImageDataProvider: ImageDataProvider {
    func data() throws(KingfisherError) -> [UInt8]
}

/// A local file. Its default key changes with the file: real path, size, modification time and inode.
public struct LocalFileImageDataProvider: ImmediateImageDataProvider {
    /// The path as it was given.
    public let path: String
    public let cacheKey: String
    public var name: String { path }
    /// The size limit, in bytes.
    private let limit: Int

    /// Creates a provider. `limit` is the largest accepted size in bytes (default 256 MiB). Without a key, throws
    /// `dataProviderError` (5003) if the path is missing or no regular file.
    public init(path: String, cacheKey: String? = nil, limit: Int = 256 << 20) throws(KingfisherError) {
        self.path = path
        self.limit = limit
        if let cacheKey {
            self.cacheKey = cacheKey
            return
        }
        var status = stat()
        guard let real = path.withPath({ realpath($0, nil) }) else { throw Self.failure(errno) }
        defer { free(real) }
        guard stat(real, &status) == 0 else { throw Self.failure(errno) }
        guard !status.isDirectory else { throw Self.failure(EISDIR) }
        guard status.isRegularFile else { throw Self.notRegular }
        let shown = RawText.percentEscaped(RawText.decode(real))
        self.cacheKey =
            "file://\(shown)?size=\(status.st_size)&mtime=\(status.modified)&inode=\(status.st_ino)"
    }

    public func data() throws(KingfisherError) -> [UInt8] {
        do throws(StorageError) {
            // A FIFO without a writer would wait for one. One that a shell has made, <(…), has its writer.
            let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
            let status = try file.status()
            if status.isRegularFile { return try file.readAll(expected: Int(clamping: status.st_size), limit: limit) }
            if status.isDirectory { throw .system(call: "read", path: path, errno: EISDIR) }
            if status.st_mode & S_IFMT == S_IFIFO {
                try retry("fcntl", path) { fcntl(file.raw, F_SETFL, 0) }
                return try file.readAll(limit: limit)
            }
        } catch .system(_, _, let code) {
            throw Self.failure(code)
        } catch {
            throw .sourceError(reason: .dataProviderError(detail: error.message))
        }
        throw Self.notRegular
    }

    private static let notRegular = KingfisherError.sourceError(
        reason: .dataProviderError(detail: "not a regular file"))

    private static func failure(_ code: Int32) -> KingfisherError {
        .sourceError(reason: .dataProviderError(detail: describe(errno: code)))
    }
}

/// Image bytes in memory. Kingfisher's `RawImageDataProvider`.
public struct RawImageDataProvider: ImmediateImageDataProvider {
    public let cacheKey: String
    public let name: String
    private let bytes: [UInt8]

    /// Creates a provider. Without a key, the SHA-256 of the content is the key.
    public init(data: [UInt8], cacheKey: String? = nil, name: String = "data") {
        bytes = data
        self.name = name
        self.cacheKey = cacheKey ?? "sha256:\(data.withUnsafeBytes { SHA256.hash($0) }.hex)"
    }

    public func data() -> [UInt8] { bytes }
}

/// Image bytes in base 64. Kingfisher's `Base64ImageDataProvider`.
public struct Base64ImageDataProvider: ImmediateImageDataProvider {
    public let cacheKey: String
    public var name: String { "base64 data" }
    private let text: String

    /// Creates a provider. The text is decoded when the bytes are requested; invalid text fails with
    /// `dataProviderError` (5003).
    public init(base64String: String, cacheKey: String) {
        text = base64String
        self.cacheKey = cacheKey
    }

    public func data() throws(KingfisherError) -> [UInt8] {
        guard let data = Base64.decode(text) else {
            throw .sourceError(reason: .dataProviderError(detail: "the data is not valid base 64"))
        }
        return data
    }
}

package enum StandardInput {
    /// Reads standard input to its end, at most `limit` bytes (default 256 MiB). Without a key, the content is the key.
    /// Throws `dataProviderError` (5003).
    package static func read(
        cacheKey: String? = nil, limit: Int = 256 << 20
    ) async throws(KingfisherError) -> RawImageDataProvider {
        try await WorkerPool.exporting.run { () throws(KingfisherError) in
            do throws(StorageError) {
                let file = FileDescriptor(taking: try retry("dup", "standard input") { dup(0) }, path: "standard input")
                return RawImageDataProvider(
                    data: try file.readAll(limit: limit), cacheKey: cacheKey, name: "standard input")
            } catch {
                throw .sourceError(reason: .dataProviderError(detail: error.message))
            }
        }
    }
}

extension WorkerPool {
    /// The threads for reading and writing the user's files.
    package static let exporting = WorkerPool(label: "kf.export", width: DescriptorLimit.beside(4))
}

/// A `data:` URI (RFC 2397).
public enum DataURI {
    /// Decodes the URI. Its media type is ignored. Throws `dataProviderError` (5003).
    public static func provider(_ uri: String, cacheKey: String? = nil) throws(KingfisherError) -> RawImageDataProvider
    {
        guard let comma = uri.firstIndex(of: ",") else { throw failure("no comma before the data") }
        let head = uri[..<comma].lowercased()
        let body = uri[uri.index(after: comma)...]
        guard head.hasSuffix(";base64") else {
            return RawImageDataProvider(data: PercentCoding.decodeBytes(body), cacheKey: cacheKey, name: "data: URI")
        }
        // RFC 2397 allows percent escapes in the base 64. Line breaks come from pasting.
        let text = String(decoding: PercentCoding.decodeBytes(body), as: UTF8.self).filter { !$0.isWhitespace }
        let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Base64.decode(padded) else { throw failure("the data: URI is not valid base 64") }
        return RawImageDataProvider(data: data, cacheKey: cacheKey, name: "data: URI")
    }

    private static func failure(_ detail: String) -> KingfisherError {
        .sourceError(reason: .dataProviderError(detail: detail))
    }
}
