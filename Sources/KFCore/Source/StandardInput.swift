import Glibc
import KFStorage
import KFSystem

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
