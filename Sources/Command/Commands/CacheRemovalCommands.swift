import Glibc
import KFCore

/// `kf cache clean`: removes expired entries and enforces the limit, or removes what options select.
enum CacheCleanCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        let selection = try EntrySelection(arguments)
        let keepList = try ListedImages(arguments, locks: Options.keepLock)
        // The cache's limit, from any layer; nil stands for the default.
        let sizeLimit = try arguments[Options.targetSize]
        // The size that eviction aims at; nil when the command line gives none.
        let targetSize = arguments.isOnCommandLine(Options.targetSize) ? sizeLimit : nil
        let removesAll = try arguments[Options.all]
        let dryRun = try arguments[Options.dryRun]
        let isConfirmed = try arguments[Options.yes]
        // Whether the command line chooses entries.
        let selects = !selection.isEmpty || keepList != nil
        if removesAll, selects || targetSize != nil {
            throw UsageError(message: "--all removes everything and cannot be combined with other choices")
        }
        if removesAll, !dryRun, !isConfirmed, !Confirmation.isPossible {
            throw UsageError(
                message: "--all removes everything and asks for confirmation; without a terminal, add --yes")
        }
        return common.onCache(sizeLimit: sizeLimit, access: dryRun ? .readOnly : .existing) {
            cache throws(KingfisherError) in
            if removesAll, !dryRun, !isConfirmed, !Confirmation.ask("Remove everything in \(common.cacheDirectory)?") {
                return .someFailed
            }
            var selected = CacheSelection()
            if let keepList {
                do throws(KingfisherError) { selected.keys = KeyChoice(except: try await keepList.keys(common)) } catch
                {
                    // Without all names of the list, images that it names would be removed.
                    Terminal.printFailure(
                        "kf: \(keepList.option): \(Terminal.visible(error.message)); nothing is removed")
                    return .usage
                }
            }
            if !selection.isEmpty {
                guard let entries = try await selection.resolved(in: cache, common) else { return .someFailed }
                let except = selected.keys?.except
                selected = entries.selection
                if keepList != nil { selected.keys = selected.keys ?? KeyChoice() }
                selected.keys?.except = except
            }
            let each = RemovalReport.each(common, dryRun: dryRun)
            var removal = Removal()
            if removesAll {
                removal = try await cache.removeAll(dryRun: dryRun, each: each)
            } else {
                if selects {
                    removal.add(try await cache.remove(selected, dryRun: dryRun, each: each))
                } else if targetSize == nil {
                    removal.add(try await cache.removeExpired(dryRun: dryRun, each: each))
                }
                // With a selection, only a size on the command line removes more than what was selected.
                let limit = try await cache.summary().map { targetSize ?? (selects ? 0 : $0.limit) } ?? 0
                if limit > 0 { removal.add(try await cache.evict(to: limit, dryRun: dryRun, each: each)) }
            }
            await cache.close()
            RemovalReport.print(removal, dryRun: dryRun, common, .success)
            return .success
        }
    }
}

enum CacheRemoveCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        let selection = try EntrySelection(arguments)
        let dryRun = try arguments[Options.dryRun]
        guard !selection.isEmpty else {
            throw UsageError(
                message: "'kf cache rm' needs a URL, a pattern or a filter; 'kf cache clean --all' removes everything")
        }
        return common.onCache(access: dryRun ? .readOnly : .existing) { cache throws(KingfisherError) in
            guard let entries = try await selection.resolved(in: cache, common) else { return .someFailed }
            var removal = Removal()
            for key in entries.partialKeys {
                let part = try await cache.removePartial(forKey: key, dryRun: dryRun)
                if !part.isEmpty { entries.note(key) }
                removal.add(part)
            }
            let print = RemovalReport.each(common, dryRun: dryRun)
            var each = print
            if entries.needsNotes {
                each = { name in
                    entries.note(name.key)
                    print?(name)
                }
            }
            let part = try await cache.remove(entries.selection, dryRun: dryRun, each: each)
            entries.note(count: part.entries)
            removal.add(part)
            await cache.close()
            let status = entries.conclude(common)
            // The message that nothing matches has been printed.
            if !removal.isEmpty || common.json { RemovalReport.print(removal, dryRun: dryRun, common) }
            return status
        }
    }
}

/// The output of `clean` and `rm`.
enum RemovalReport {
    /// Returns the function that prints each removed entry: with `-v`, and in a dry run; else nil.
    static func each(_ common: CommonSettings, dryRun: Bool) -> ImageCache.EachRemoved? {
        guard common.verbose || dryRun && !common.quiet else { return nil }
        return { name in
            guard common.json else { return Terminal.print(EntryText.name(name, whole: true)) }
            Terminal.print(JSONObject((name, dryRun), fields).json)
        }
    }

    static func print(
        _ removal: Removal, dryRun: Bool, _ common: CommonSettings, _ status: ExitStatus? = nil
    ) {
        if common.json {
            Terminal.print(JSONObject(summary: (removal, dryRun), summary, status: status).json)
        } else if !common.quiet {
            let verb = dryRun ? "would remove" : "removed"
            let entries = EntryText.count(removal.entries, "entry", "entries")
            var text = "\(verb) \(entries), \(ByteText.bytes(removal.bytes))"
            if removal.partials > 0 {
                text += " and \(EntryText.partials(removal.partials)), \(ByteText.bytes(removal.partialBytes))"
            }
            Terminal.print(text)
        }
    }

    static let fields: [JSONField<(name: EntryName, dryRun: Bool)>] = [
        JSONField("status", "With -v, for each entry: removed, or would_be_removed with --dry-run.") {
            $0.dryRun ? "would_be_removed" : "removed"
        },
        JSONField("key", CommonFields.key) { $0.name.key },
        JSONField("identifier", EntryTable.identifier) { $0.name.identifier },
        JSONField("location", "Always null.") { _ in String?.none },
    ]

    static let summary: [JSONField<(removal: Removal, dryRun: Bool)>] = [
        JSONField("dry_run", "Whether --dry-run was given, so that nothing was removed.") { $0.dryRun },
        JSONField("removed", "The number of removed entries, and their size.") { $0.removal.entries },
        JSONField("bytes", nil) { $0.removal.bytes },
        JSONField("partials", "The number of removed partial downloads, and their size.") { $0.removal.partials },
        JSONField("partial_bytes", nil) { $0.removal.partialBytes },
        JSONField("failed", "Always 0, and the next two null.") { _ in 0 },
        JSONField("remote", nil) { _ in String?.none }, JSONField("error", nil) { _ in String?.none },
    ]
}

enum Confirmation {
    /// Whether a question can be asked: standard input and standard error are terminals.
    static var isPossible: Bool { Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(Session.current.errors) }

    /// Asks the question. Any answer but yes means no.
    static func ask(_ question: String) -> Bool {
        Terminal.prompt("\(Terminal.visible(question)) [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}
