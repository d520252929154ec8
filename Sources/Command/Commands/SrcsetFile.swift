import KFCore
import KFSystem
import Synchronization

/// The file of `--srcset`: the markup of each source's files, in the order of the sources. It is replaced as a whole
/// when the run has tried every source, and left as it is when it would have the same bytes.
final class SrcsetFile: Sendable {
    private struct Writing: ~Copyable {
        /// Nil at the end.
        var output: OutputFile?
        var hash = SHA256()
        var size = 0
        var pending: [UInt8] = []
        var hasPictures = false
        /// The path from the file's folder to the copies, with a slash at its end; nil before it is needed.
        var folder: String?
        /// The reason why the file will not be complete.
        var problem: String?

        init(_ output: consuming OutputFile) { self.output = consume output }
    }

    private let path: String
    private let isJSON: Bool
    private let directory: String
    private let prefix: String?
    private let sizes: String
    private let writing: Mutex<Writing>

    /// Opens the temporary file. Nil without the option.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        guard let path = try arguments[Options.srcset] else {
            try arguments.refuse(
                [Options.srcsetURL.spec, Options.altColumn.spec, Options.srcsetSizes.spec], without: "--srcset")
            return nil
        }
        guard let directory = try Destination.places(arguments).directory else {
            throw UsageError(message: "--srcset needs --output-dir, where the files are")
        }
        let ending = path.lowercased()
        isJSON = ending.hasSuffix(".json")
        guard isJSON || ending.hasSuffix(".html") || ending.hasSuffix(".htm") else {
            throw UsageError(message: "--srcset needs the name of a file that ends in .html or .json")
        }
        let createsFolders = try arguments[Options.createDirs]
        let output: OutputFile
        do throws(KingfisherError) {
            let folder = path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[..<$0]) } ?? ""
            if !folder.isEmpty, createsFolders { try OutputDirectory.make(folder, parents: true) }
            output = try OutputFile.open(path)
        } catch {
            throw UsageError(message: "--srcset: \(error.message)")
        }
        (self.path, self.directory) = (path, directory)
        prefix = try arguments[Options.srcsetURL]
        sizes = try arguments[Options.srcsetSizes]
        writing = Mutex(Writing(output))
    }

    /// Returns the markup of a source; nil if none of its files was written.
    func text(_ reports: [ItemReport]) -> String? {
        let files = reports.compactMap { report in
            report.copy.map {
                PictureMarkup.File(variant: report.variant, url: url($0.path), facts: $0.facts)
            }
        }
        guard let first = reports.first,
            let picture = PictureMarkup(
                source: first.source, alternativeText: first.alternativeText,
                placeholder: reports.lazy.compactMap(\.placeholder).first, files: files)
        else { return nil }
        return isJSON ? picture.json : picture.html(sizes: sizes)
    }

    /// The URL of a copy: behind that of `--srcset-url`, or from the file's folder.
    private func url(_ copy: String) -> String {
        let name = directory == "." ? copy : String(copy.dropFirst(directory.count + 1))
        return (prefix ?? HTMLText.urlPath(relativeFolder)) + HTMLText.urlPath(name)
    }

    private var relativeFolder: String {
        writing.withLock { writing in
            if let folder = writing.folder { return folder }
            // The directory may be made with its first copy.
            let own = path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[...$0]) } ?? "."
            let folder = OutputDirectory.path(from: own, to: directory)
            writing.folder = folder
            return folder
        }
    }

    /// Takes the markup of the next source.
    func append(_ text: String) {
        writing.withLock { writing in
            if isJSON { writing.pending += (writing.hasPictures ? ",\n" : "[\n").utf8 }
            writing.hasPictures = true
            writing.pending += text.utf8
            if writing.pending.count >= AppendedFile.block { Self.flush(&writing) }
        }
    }

    /// The reason why the file will not be complete; nil while it will.
    var problem: String? { writing.withLock { $0.problem } }

    private static func flush(_ writing: inout Writing) {
        let bytes = writing.pending
        writing.pending = []
        guard writing.problem == nil, let output = writing.output.take() else { return }
        writing.size += bytes.count
        bytes.withUnsafeBytes { writing.hash.update($0) }
        do throws(StorageError) {
            try bytes.withBytes { bytes throws(StorageError) in try output.file.write(bytes) }
        } catch {
            writing.problem = OutputFile.failure(error).message
        }
        writing.output = consume output
    }

    /// Replaces the file, unless it has these bytes, or the run has not tried every source. Returns whether it has failed.
    func finish(_ common: CommonSettings, isWhole: Bool) -> ExitStatus {
        writing.withLock { writing in
            if isJSON { writing.pending += (writing.hasPictures ? "\n]\n" : "[]\n").utf8 }
            Self.flush(&writing)
            guard let output = writing.output.take() else { return .success }
            guard isWhole else {
                if !common.quiet { common.warn("\(path) is left as it was: not every source was tried") }
                return .success
            }
            if writing.problem == nil {
                do throws(KingfisherError) {
                    let sha256 = writing.hash.finish().hex
                    if !OutputFile.holds(path, size: Int64(writing.size), sha256: sha256) { try output.commit() }
                } catch {
                    writing.problem = error.message
                }
            }
            guard let problem = writing.problem else { return .success }
            Terminal.printError("kf: --srcset: \(Terminal.visible(problem))")
            return .cacheFailed
        }
    }
}
