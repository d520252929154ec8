import KFCore

enum CacheReportCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        let thumbnails = try arguments[Options.thumbnails]
        let selection = try EntrySelection(arguments)
        guard let output = try arguments[Options.reportFile], !output.isEmpty else {
            throw UsageError(message: "'kf cache report' needs a file to write: -o FILE.html")
        }
        if output == "-", common.json { throw UsageError(message: "--json and -o - both write to standard output") }
        return common.onCache(access: .readOnly) { cache throws(KingfisherError) in
            guard let (selected, status) = try await selection.noted(in: cache, common) else { return .someFailed }
            let content = try await ReportContent(
                cache, selected, directory: common.cacheDirectory, thumbnails: thumbnails)
            let page = ReportPage.html(content)
            try (output == "-" ? OutputTarget.standardOutput : .file(output)).write(Array(page.utf8), isPrivate: true)
            if common.json {
                let record = (output, content.totals.entries, page.utf8.count, content.pictures.count)
                Terminal.print(JSONObject(record, fields).json)
            } else if common.verbose {
                Terminal.printError(
                    "kf: \(EntryText.count(content.totals.entries, "entry", "entries")), "
                        + "\(EntryText.count(content.pictures.count, "picture")), \(ByteText.bytes(Int64(page.utf8.count)))"
                )
            }
            return status
        }
    }

    static let fields: [JSONField<(output: String, entries: Int, bytes: Int, thumbnails: Int)>] = [
        JSONField("output", "The file that was written; - is standard output.") { $0.output },
        JSONField("entries", "The number of entries in the cache, the size of the page, and its number of images.") {
            $0.entries
        },
        JSONField("bytes", nil) { $0.bytes },
        JSONField("thumbnails", nil) { $0.thumbnails },
    ]
}
