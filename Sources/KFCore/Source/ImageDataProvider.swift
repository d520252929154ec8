import Glibc
import KFStorage
import KFSystem

/// Bytes that do not come from the network. Kingfisher's `ImageDataProvider`.
public protocol ImageDataProvider: Sendable {
    /// What the image is kept under: it must change when the bytes do.
    var cacheKey: String { get }
    /// What messages show.
    var name: String { get }
    /// The bytes of an image file. Called off the cooperative pool: it may block as well as wait. The task is cancelled when
    /// nobody wants the image any more. An error that is no `KingfisherError` is kept in
    /// ``KingfisherError/SourceErrorReason/dataProviderError(detail:error:)``.
    func data() async throws -> [UInt8]
}

/// One that never waits: it is read without a task.
protocol ImmediateImageDataProvider: ImageDataProvider {
    func data() throws(KingfisherError) -> [UInt8]
}

/// A file of this machine. Its key changes with the file: real path, size, modification time and inode.
public struct LocalFileImageDataProvider: ImmediateImageDataProvider {
    /// As it was given.
    public let path: String
    public let cacheKey: String
    public var name: String { path }
    /// In bytes.
    private let limit: Int

    /// Throws `dataProviderError` (5003) when there is no such regular file. `limit` is in bytes.
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
        let shown = RawText.percentEscaped(RawText.decode(real))
        self.cacheKey =
            "file://\(shown)?size=\(status.st_size)&mtime=\(status.modified)&inode=\(status.st_ino)"
    }

    public func data() throws(KingfisherError) -> [UInt8] {
        do {
            let file = try FileDescriptor.open(path, O_RDONLY)
            return try file.readAll(expected: Int(clamping: file.status().st_size), limit: limit)
        } catch .system(_, _, let code) {
            throw Self.failure(code)
        } catch {
            throw .sourceError(reason: .dataProviderError(detail: error.message))
        }
    }

    private static func failure(_ code: Int32) -> KingfisherError {
        .sourceError(reason: .dataProviderError(detail: describe(errno: code)))
    }
}

/// Bytes in memory. Kingfisher's `RawImageDataProvider`.
public struct RawImageDataProvider: ImmediateImageDataProvider {
    public let cacheKey: String
    public let name: String
    private let bytes: [UInt8]

    /// Without a key, the content is the key.
    public init(data: [UInt8], cacheKey: String? = nil, name: String = "data") {
        bytes = data
        self.name = name
        self.cacheKey = cacheKey ?? "sha256:\(data.withUnsafeBytes { SHA256.hash($0) }.hex)"
    }

    public func data() -> [UInt8] { bytes }
}

/// Bytes in base 64. Kingfisher's `Base64ImageDataProvider`.
public struct Base64ImageDataProvider: ImmediateImageDataProvider {
    public let cacheKey: String
    public var name: String { "base64 data" }
    private let text: String

    /// The text is decoded when the bytes are asked for.
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

/// Standard input as a source.
package enum StandardInput {
    /// All of it, at most `limit` bytes. Without a key, the content is the key. Throws `dataProviderError` (5003).
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

/// A `data:` URI (RFC 2397).
public enum DataURI {
    /// The bytes that the URI holds; its media type is not believed. Throws `dataProviderError` (5003).
    public static func provider(_ uri: String, cacheKey: String? = nil) throws(KingfisherError) -> RawImageDataProvider
    {
        guard let comma = uri.firstIndex(of: ",") else { throw failure("the data: URI has no comma") }
        let head = uri[..<comma].lowercased()
        let body = uri[uri.index(after: comma)...]
        guard head.hasSuffix(";base64") else {
            return RawImageDataProvider(data: PercentCoding.decodeBytes(body), cacheKey: cacheKey, name: "data: URI")
        }
        // RFC 2397 allows escapes inside the base 64; line breaks come from pasting.
        let text = String(decoding: PercentCoding.decodeBytes(body), as: UTF8.self).filter { !$0.isWhitespace }
        let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Base64.decode(padded) else { throw failure("the data: URI is not valid base 64") }
        return RawImageDataProvider(data: data, cacheKey: cacheKey, name: "data: URI")
    }

    private static func failure(_ detail: String) -> KingfisherError {
        .sourceError(reason: .dataProviderError(detail: detail))
    }
}
