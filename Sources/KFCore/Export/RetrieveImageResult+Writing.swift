import Glibc
import KFLists
import KFPipeline
import KFStorage
import KFSystem
import KFTerms

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
    /// Whether the names of copies have only letters, digits, `-`, `_`, `.` and `+`. Otherwise they keep what file systems
    /// allow and everyone can see.
    public var safeNames: Bool

    /// Creates the options. By default files are replaced, and the parent directory must exist.
    public init(replaces: Bool = true, createsFolders: Bool = false, safeNames: Bool = false) {
        self.replaces = replaces
        self.createsFolders = createsFolders
        self.safeNames = safeNames
    }
}

/// Whether an output's file was written.
public enum OutputState: String, Sendable {
    /// The image was written.
    case written
    /// The file had the same bytes already and was left as it is.
    case unchanged
    /// The file existed and was left as it is, so that it may have another image.
    case left
}

extension RetrieveImageResult {
    /// Writes the encoded image, unless the file has the same bytes already, or exists and `options` let it be. Throws
    /// `outputFailed` (4002).
    @discardableResult
    public func write(
        to target: OutputTarget, _ options: OutputOptions = OutputOptions()
    ) async throws(KingfisherError) -> OutputState {
        try await WorkerPool.exporting.run { [self] () throws(KingfisherError) in try writeNow(to: target, options) }
    }

    /// Writes the encoded image on the calling thread. Blocks.
    @discardableResult
    package func writeNow(
        to target: OutputTarget, _ options: OutputOptions = OutputOptions()
    ) throws(KingfisherError) -> OutputState {
        guard case .file(let path) = target else {
            try target.write(loadData())
            return .written
        }
        if options.createsFolders, let slash = path.unicodeScalars.lastIndex(of: "/") {
            let folder = String(path.unicodeScalars[..<slash])
            if !folder.isEmpty { try OutputDirectory.make(folder, parents: true) }
        }
        if !options.replaces, OutputFile.exists(path) { return .left }
        if OutputFile.holds(path, size: facts.bytes, sha256: try digest()) { return .unchanged }
        let bytes: [UInt8]?
        if case .file = content { bytes = nil } else { bytes = try loadData() }
        let output = try OutputFile.open(path)
        if let bytes {
            try OutputTarget.write(bytes, to: output.file)
        } else if case .file(let cached) = content {
            try OutputFile.failing { () throws(StorageError) in try cached.copy(to: output.file) }
        }
        return try output.commit(replacing: options.replaces) ? .written : .left
    }

    /// The SHA-256 of the encoded image, 64 hexadecimal digits. Blocks.
    func digest() throws(KingfisherError) -> String {
        if let sha256 = facts.sha256 { return sha256 }
        return try loadData().withUnsafeBytes { SHA256.hash($0) }.hex
    }

    /// The hash of the encoded image, whose digest this is, and of its processing: 64 hexadecimal digits that tell images
    /// of one name apart.
    func nameHash(_ sha256: String) -> String { ImageExporter.digest("\(sha256)@\(identifier)").hex }
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
            let raw = try OutputFile.failing { () throws(StorageError) in
                try retry("dup", "standard output") { dup(STDOUT_FILENO) }
            }
            try Self.write(bytes, to: FileDescriptor(taking: raw, path: "standard output"))
        }
    }

    static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor) throws(KingfisherError) {
        try OutputFile.failing { () throws(StorageError) in
            try bytes.withBytes { bytes throws(StorageError) in try file.write(bytes) }
        }
    }
}
