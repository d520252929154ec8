import Glibc
import KFCore

/// Where results go.
enum Destination: Sendable {
    /// They stay in the cache, and the path is printed.
    case cache
    case standardOutput
    case file(String)
    case directory(String)

    init(_ arguments: ParsedArguments, sources: Int, json: Bool) throws(UsageError) {
        switch (arguments.value("output"), arguments.value("output-dir")) {
        case (nil, nil): self = .cache
        case (_?, _?): throw UsageError(message: "-o and --output-dir exclude each other")
        case ("-"?, nil):
            guard !json else { throw UsageError(message: "--json and -o - both want standard output") }
            guard sources == 1 else { throw UsageError(message: "-o takes one source; for several use --output-dir") }
            self = .standardOutput
        case (let path?, nil):
            guard sources == 1 else { throw UsageError(message: "-o takes one source; for several use --output-dir") }
            guard !path.isEmpty else { throw UsageError(message: "-o needs a file name") }
            self = .file(path)
        case (nil, let path?):
            guard !path.isEmpty else { throw UsageError(message: "--output-dir needs a directory") }
            self = .directory(path)
        }
    }

    /// Gives back the path that was written, or `-`; nil when the result stays in the cache.
    func write(_ result: RetrieveImageResult, name stem: String) async throws(KingfisherError) -> String? {
        switch self {
        case .cache: return nil
        case .standardOutput:
            try await result.write(toDescriptor: STDOUT_FILENO)
            return "-"
        case .file(let path):
            try await result.write(to: path)
            return path
        case .directory(let directory):
            try OutputDirectory.make(directory)
            let path = "\(directory)/\(OutputName.name(stem: stem, result))"
            try await result.write(to: path)
            return path
        }
    }
}
