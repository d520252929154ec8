import KFCore
import KFSystem

/// `kf cache merge`: takes the images of other caches.
enum CacheMergeCommand {
    typealias Merged = (directory: String, isDryRun: Bool, result: CacheMerge)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let (common, directories) = (try CommonSettings(arguments), arguments.operands)
        guard !directories.isEmpty else {
            throw UsageError(message: "'kf cache merge' needs the directory of another cache")
        }
        if let url = directories.first(where: { $0.contains("://") }) {
            let shown = RequestURL.redacted(url)
            throw UsageError(
                message: "'kf cache merge' takes directories; for a remote: kf cache pull --remote \(shown)")
        }
        let isDryRun = try arguments[Options.mergeDryRun]
        return common.onCache(
            sizeLimit: try arguments[Options.maxSize], access: isDryRun ? .readOnly : .create
        ) { cache throws(KingfisherError) in
            var status = ExitStatus.success
            for directory in directories {
                do throws(KingfisherError) {
                    let tells = common.verbose && !common.json
                    if tells, isDryRun {
                        try await cache.compare(with: directory) { tell(there: $0, here: $1, directory) }
                    }
                    let result = try await cache.merge(from: directory, changesNothing: isDryRun) { entry in
                        if tells, !isDryRun { Terminal.print(EntryText.name(entry.name, whole: true)) }
                    }
                    if result.damaged + result.tooLarge > 0 { status.raise(to: .someFailed) }
                    print((directory, isDryRun, result), common)
                } catch {
                    common.report(error, for: directory)
                    status.raise(to: error.status)
                }
            }
            common.warnOfEvicted(cache)
            await cache.close()
            return status
        }
    }

    /// Prints which of the caches has an image, or a newer one.
    private static func tell(there: CachedEntry?, here: CachedEntry?, _ directory: String) {
        guard let name = (there ?? here)?.name, !DescriptionSerializer.isDescription(name.identifier) else { return }
        let other = "in \(directory)"
        var state = there == nil ? "only here" : "only \(other)"
        if let there, let here {
            let isSame = there.facts.sha256 == here.facts.sha256
            state =
                there.created == here.created
                ? "as old and different \(other)"
                : "newer \(there.created > here.created ? other : "here"), \(isSame ? "same bytes" : "other bytes")"
        }
        Terminal.print("\(Terminal.visible(state))\t\(EntryText.name(name, whole: true))")
    }

    private static func print(_ merged: Merged, _ common: CommonSettings) {
        if common.json { return Terminal.print(JSONObject(merged, fields).json) }
        guard !common.quiet else { return }
        let result = merged.result
        let entries = EntryText.count(result.taken.entries, "entry", "entries")
        var parts = ["\(entries) \(merged.isDryRun ? "to take" : "taken") (\(ByteText.bytes(result.taken.bytes)))"]
        parts.append("\(result.kept) kept as they are")
        parts += EntryText.counts(
            (result.damaged, "damaged and left out"), (result.tooLarge, "larger than --max-size and left out"))
        Terminal.print("\(Terminal.visible(merged.directory)): \(parts.joined(separator: ", "))")
    }

    static let fields: [JSONField<Merged>] = [
        JSONField("directory", "The other cache.") { $0.directory },
        JSONField("dry_run", "Whether --dry-run was given, so that nothing was taken.") { $0.isDryRun },
        JSONField("taken", "The number of its entries that were taken, or with --dry-run would be, and their bytes.") {
            $0.result.taken.entries
        },
        JSONField("bytes", nil) { $0.result.taken.bytes },
        JSONField("kept", "The number of those of which this cache has one of the same age or a newer one.") {
            $0.result.kept
        },
        JSONField("damaged", "The number of those that were left out, since their file is missing or has other bytes.")
        {
            $0.result.damaged
        },
        JSONField("too_large", "The number of those that were left out, since they are larger than the cache's limit.")
        {
            $0.result.tooLarge
        },
    ]
}
