import KFCore

enum Destination: Sendable {
    /// Results stay in the cache, and their paths are printed.
    case cache
    case standardOutput
    case file(String, OutputOptions)
    case directory(ImageExporter)
    /// Tar archives in a directory.
    case shards(String, ShardExporter.Configuration)

    /// `results`: the number of images that are made.
    init(
        _ arguments: ParsedArguments, _ settings: RetrievalSettings, results: Int, json: Bool
    ) throws(UsageError) {
        let isWidths = try !arguments[Options.widths].isEmpty
        let template = try arguments[Options.name] ?? (isWidths ? .standardOfWidths : nil)
        let options = OutputOptions(
            replaces: !(try arguments[Options.noClobber]), createsFolders: try arguments[Options.createDirs],
            safeNames: try arguments[Options.safeNames])
        let (file, directory) = try Self.places(arguments)
        let dropsDuplicates =
            try arguments[Options.dropDuplicates] != nil || arguments.isBare(Options.dropDuplicates)
        if let shards = try arguments[Options.shards] {
            var configuration = ShardExporter.Configuration(
                names: ShardNames(size: try arguments[Options.shardSize], part: try arguments[Options.shard]))
            configuration.createsFolders = options.createsFolders
            configuration.captionColumn = try arguments[Options.captionColumn]
            configuration.isOrdered = try arguments[Options.ordered] || dropsDuplicates
            if dropsDuplicates {
                configuration.duplicates = DuplicateSieve.text(distance: try arguments[Options.dropDuplicates])
            }
            configuration.synchronizes = try arguments[Options.fsync]
            self = .shards(shards, configuration)
            return
        }
        try arguments.refuse(
            [Options.shardSize.spec, Options.dropDuplicates.spec, Options.captionColumn.spec], without: "--shards")
        if let directory {
            let record =
                try arguments[Options.pruneOutput]
                ? OutputRecord(
                    directory: directory, skipsInvalid: try arguments[Options.skipInvalid],
                    request: settings.options.request) : nil
            let exporter = ImageExporter(
                directory: directory, template: template, forms: settings.forms, options: options, record: record)
            self = .directory(exporter)
            return
        }
        try arguments.refuse([Options.pruneOutput.spec], without: "--output-dir")
        try arguments.refuse([Options.name.spec], without: "--output-dir or -O")
        guard let file else {
            self = .cache
            return
        }
        guard results == 1 else {
            throw UsageError(message: "-o takes one image; for several use --output-dir, or -o DIR/ with a slash")
        }
        guard file == "-" else {
            if arguments.layer(of: Options.format) == nil, let better = OutputName.likely(file) {
                throw UsageError(
                    message: "-o \(file): did you mean '\(better)'? -f keep keeps the bytes under any name")
            }
            self = .file(file, options)
            return
        }
        if json { throw UsageError(message: "--json and -o - both write to standard output") }
        if Terminal.isTerminal(1) {
            throw UsageError(
                message: "-o - would write an image to the terminal; use -o FILE, or '| chafa -' to look at it")
        }
        self = .standardOutput
    }

    /// The file, or the directory of copies, that images are written to beside the cache; nil for none.
    static func places(_ arguments: ParsedArguments) throws(UsageError) -> (file: String?, directory: String?) {
        var directory = try arguments[Options.outputDir]
        if directory == nil, try arguments[Options.remoteName] { directory = "." }
        guard let output = try arguments[Options.output] else { return (nil, directory) }
        guard output.utf8.last == UInt8(ascii: "/") else { return (output, nil) }
        var name = output
        while name.utf8.count > 1, name.utf8.last == UInt8(ascii: "/") { name.removeLast() }
        return (nil, name)
    }

    /// The format that the output's name, or the template of names, stands for, and the layer it is from; nil for none.
    static func format(_ arguments: ParsedArguments) throws(UsageError) -> (format: ImageFormat?, layer: Int) {
        let (file, directory) = try places(arguments)
        if let file { return (OutputName.format(of: file), 0) }
        guard directory != nil, let layer = arguments.layer(of: Options.name) else { return (nil, 0) }
        return (try arguments[Options.name]?.format, layer)
    }

    /// The columns of a list that are needed: for the names of copies, or for captions.
    var columns: [String] {
        if case .shards(_, let configuration) = self { return configuration.captionColumn.map { [$0] } ?? [] }
        return exporter?.columns ?? []
    }

    var exporter: ImageExporter? {
        if case .directory(let exporter) = self { return exporter }
        return nil
    }

    /// Writes the result and returns where: `-` is standard output. Nil when results stay in the cache. Blocks.
    ///
    /// `form` is the result's place among the variants.
    func write(
        _ result: RetrieveImageResult, form: Int, _ claim: ImageExporter.Claim?
    ) throws(KingfisherError) -> ImageExporter.Copy? {
        switch self {
        case .cache, .shards: return nil
        case .standardOutput:
            return ImageExporter.Copy(path: "-", try result.writeNow(to: .standardOutput), of: result)
        case .file(let path, let options):
            return ImageExporter.Copy(path: path, try result.writeNow(to: .file(path), options), of: result)
        case .directory(let exporter):
            guard let claim else { return nil }
            return try exporter.exportNow(result, form: form, claim)
        }
    }
}
