import KFCore

/// Where results go.
enum Destination: Sendable {
    /// They stay in the cache, and the path is printed.
    case cache
    case standardOutput
    case file(String)
    case directory(String)

    /// `results`: how many images there will be.
    init(_ arguments: ParsedArguments, results: Int, json: Bool) throws(UsageError) {
        switch (arguments.value("output"), arguments.value("output-dir")) {
        case (nil, nil): self = .cache
        case (_?, _?): throw UsageError(message: "-o and --output-dir exclude each other")
        case ("-"?, nil):
            guard !json else { throw UsageError(message: "--json and -o - both want standard output") }
            guard results == 1 else { throw UsageError(message: "-o takes one image; for several use --output-dir") }
            self = .standardOutput
        case (let path?, nil):
            guard results == 1 else { throw UsageError(message: "-o takes one image; for several use --output-dir") }
            guard !path.isEmpty else { throw UsageError(message: "-o needs a file name") }
            self = .file(path)
        case (nil, let path?):
            guard !path.isEmpty else { throw UsageError(message: "--output-dir needs a directory") }
            self = .directory(path)
        }
    }

    /// Where this result is to be written; nil when it stays in the cache.
    func target(
        for result: RetrieveImageResult, stem: String, variant: String?
    ) throws(KingfisherError) -> OutputTarget? {
        switch self {
        case .cache: return nil
        case .standardOutput: return .standardOutput
        case .file(let path): return .file(path)
        case .directory(let directory):
            try OutputDirectory.make(directory)
            return .file("\(directory)/\(OutputName.name(stem: stem, variant: variant, result))")
        }
    }
}

extension OutputTarget {
    /// As reports name it.
    var name: String {
        switch self {
        case .file(let path): path
        case .standardOutput: "-"
        }
    }
}
