import Glibc
import KFStorage
import KFSystem

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
