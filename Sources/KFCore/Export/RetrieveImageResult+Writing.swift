import Glibc
import KFStorage

extension RetrieveImageResult {
    /// Writes the encoded image to a file, which appears as a whole or not at all. Throws `outputFailed` (4002).
    public func write(to path: String) async throws(KingfisherError) {
        if case .file(let cached) = content {
            return try await WorkerPool.exporting.run { () throws(KingfisherError) in
                let output = try OutputFile.open(path)
                do throws(StorageError) { try cached.copy(to: output.file) } catch { throw OutputFile.failure(error) }
                try output.commit()
            }
        }
        let bytes = try await data()
        try await WorkerPool.exporting.run { () throws(KingfisherError) in
            let output = try OutputFile.open(path)
            try Self.write(bytes, to: output.file)
            try output.commit()
        }
    }

    /// Writes the encoded image to an open descriptor, such as standard output, which stays open.
    public func write(toDescriptor descriptor: Int32) async throws(KingfisherError) {
        let bytes = try await data()
        try await WorkerPool.exporting.run { () throws(KingfisherError) in
            let duplicate: FileDescriptor
            do throws(StorageError) {
                duplicate = FileDescriptor(
                    taking: try retry("dup", "standard output") { dup(descriptor) }, path: "standard output")
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
