import KFCore

/// `kf cache report`: one HTML page of what the cache holds.
struct CacheReportCommand: Sendable {
    private let common: CommonSettings
    private let output: String
    private let thumbnails: Int

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        thumbnails = try arguments.integer("thumbnails", in: 0...1000) ?? 60
        guard arguments.operands.isEmpty, let output = arguments.value("output"), !output.isEmpty else {
            throw UsageError(message: "'kf cache report' needs a file to write: -o FILE.html")
        }
        if output == "-", common.json { throw UsageError(message: "--json and -o - both want standard output") }
        self.output = output
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: nil, access: .readOnly)
        do {
            let content = try await ReportContent(cache, directory: common.cacheDirectory, thumbnails: thumbnails)
            let page = ReportPage.html(content)
            try (output == "-" ? OutputTarget.standardOutput : .file(output)).write(Array(page.utf8), isPrivate: true)
            if common.json {
                var object = JSONObject()
                object.add("schema", 1)
                object.add("output", output)
                object.add("entries", content.totals.entries)
                object.add("bytes", page.utf8.count)
                object.add("thumbnails", content.pictures.count)
                Terminal.print(object.line)
            } else if common.verbose {
                Terminal.printError(
                    "kf: \(EntryText.count(content.totals.entries, "entry", "entries")), "
                        + "\(EntryText.count(content.pictures.count, "picture")), \(ByteText.bytes(Int64(page.utf8.count)))"
                )
            }
            return .success
        } catch {
            if error.isClosedOutput { return .success }
            common.report(error, for: nil)
            return error.isCacheFailure ? .cacheFailed : .someFailed
        }
    }
}
