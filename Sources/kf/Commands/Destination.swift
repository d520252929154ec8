import KFCore

/// The place where results go.
enum Destination: Sendable {
    /// Results stay in the cache, and their paths are printed.
    case cache
    case standardOutput
    case file(String)
    case directory(ImageExporter)

    /// `results`: the number of images that are made.
    init(_ arguments: ParsedArguments, results: Int, variants: [Variant], json: Bool) throws(UsageError) {
        let template = try arguments[Options.name]
        let (output, directory) = (try arguments[Options.output], try arguments[Options.outputDir])
        if directory == nil, arguments.isOnCommandLine(Options.name) {
            throw UsageError(message: "--name needs --output-dir")
        }
        switch (output, directory) {
        case (nil, let path?):
            self = .directory(ImageExporter(directory: path, template: template, variants: variants.map(\.name)))
        case (nil, nil): self = .cache
        case (let path?, _):
            if path == "-", json { throw UsageError(message: "--json and -o - both write to standard output") }
            guard results == 1 else { throw UsageError(message: "-o takes one image; for several use --output-dir") }
            self = path == "-" ? .standardOutput : .file(path)
        }
    }

    var exporter: ImageExporter? {
        if case .directory(let exporter) = self { return exporter }
        return nil
    }

    /// Writes the result and returns where: `-` is standard output. Nil when results stay in the cache. Blocks.
    ///
    /// `form` is the result's place among the variants, `number` its source's on the command line, from 1.
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
