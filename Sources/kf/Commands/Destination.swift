import KFCore

/// Where results go.
enum Destination: Sendable {
    /// They stay in the cache, and the path is printed.
    case cache
    case standardOutput
    case file(String)
    case directory(ImageExporter)

    /// `results`: how many images there will be.
    init(_ arguments: ParsedArguments, results: Int, variants: [Variant], json: Bool) throws(UsageError) {
        let template = try Self.template(arguments)
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
            self = .directory(ImageExporter(directory: path, template: template, variants: variants.map(\.name)))
        }
    }

    private static func template(_ arguments: ParsedArguments) throws(UsageError) -> OutputTemplate? {
        guard let text = arguments.value("name") else { return nil }
        do {
            return try OutputTemplate(text)
        } catch {
            throw UsageError(message: "--name '\(text)': \(error.message)")
        }
    }

    var exporter: ImageExporter? {
        if case .directory(let exporter) = self { return exporter }
        return nil
    }

    /// Writes the result if it is to go somewhere, and says where: `-` is standard output. `form` is its place among the
    /// variants, `number` its source's on the command line, from 1. Blocks.
    func write(_ result: RetrieveImageResult, form: Int, number: Int) throws(KingfisherError) -> String? {
        switch self {
        case .cache: return nil
        case .standardOutput:
            try result.writeNow(to: .standardOutput)
            return "-"
        case .file(let path):
            try result.writeNow(to: .file(path))
            return path
        case .directory(let exporter):
            return try exporter.exportNow(result, form: form, number: number, place: "source \(number)")
        }
    }
}
