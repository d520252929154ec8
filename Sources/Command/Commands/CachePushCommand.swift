import KFCore

/// `kf cache push`: uploads the images that a remote lacks.
struct CachePushCommand: Sendable {
    private let common: CommonSettings
    private let selection: EntrySelection
    private let listed: ListedImages?
    private let remotes: RemoteSettings
    private let progress: ProgressBar.Style
    private let isDryRun: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        selection = try EntrySelection(arguments)
        listed = try ListedImages(arguments, locks: Options.pushedLock)
        isDryRun = try arguments[Options.pushDryRun]
        progress = ProgressBar.Style(try arguments[Options.progress], quiet: try arguments[Options.quiet])
        remotes = try RemoteSettings(pushing: arguments)
    }

    func run() -> ExitStatus {
        common.onCache(access: .existing, remotes.apply) { cache throws(KingfisherError) in
            guard let noted = try await selection.noted(in: cache, common) else { return .someFailed }
            var (selected, status) = (noted.selection, noted.status)
            if let listed {
                do throws(KingfisherError) {
                    selected.keys = KeyChoice(
                        keys: try await listed.keys().union(selected.keys?.keys ?? []),
                        globs: selected.keys?.globs ?? [])
                } catch {
                    Terminal.printFailure("kf: \(listed.option): \(Terminal.visible(error.message))")
                    return .usage
                }
            }
            let bar = ProgressBar(progress, WaitReport(prints: false), uploads: { cache.uploadProgress }) { nil }
            bar.update { $0.isOver = true }
            let interrupts = Interrupts { _ in
                cache.endWaiting(within: .zero)
            } second: {
            }
            let result = try await cache.push(selected, changesNothing: isDryRun) { entry in
                if common.verbose || isDryRun, !common.json, !common.quiet {
                    Terminal.print(EntryText.name(entry.name, whole: common.verbose))
                }
            }
            bar.end()
            if let result {
                if result.failed > 0 { status.raise(to: .someFailed) }
                if listed != nil, result.uploaded.entries + result.present + result.skipped + result.failed == 0 {
                    status.raise(to: .someFailed)
                    Terminal.printFailure("kf: the cache has no image that \(listed?.option ?? "") names")
                }
                if let interrupted = interrupts.status { status.raise(to: interrupted) }
                print(result, status)
            }
            await cache.close()
            status.raise(to: remotes.finish())
            return status
        }
    }

    private func print(_ result: CachePush, _ status: ExitStatus) {
        if common.json { return Terminal.print(JSONObject(summary: result, Self.summary, status: status).json) }
        guard !common.quiet else { return }
        var parts = [
            "\(result.uploaded.entries) \(isDryRun ? "to upload" : "uploaded") (\(ByteText.bytes(result.uploaded.bytes)))"
        ]
        parts.append("\(result.present) there already")
        if result.skipped > 0 { parts.append("\(result.skipped) not to be shared") }
        if result.failed > 0 { parts.append("\(result.failed) failed") }
        Terminal.printError("kf: \(parts.joined(separator: ", "))")
    }

    static let summary: [JSONField<CachePush>] = [
        JSONField("uploaded", "The images that were uploaded, or with --dry-run would be, and their bytes.") {
            $0.uploaded.entries
        },
        JSONField("bytes", nil) { $0.uploaded.bytes },
        JSONField("present", "The number of images that the remote has already.") { $0.present },
        JSONField(
            "skipped",
            "The number of images that are not shared: of no server, of a user, expired without a validator, or by their response."
        ) { $0.skipped },
        JSONField("failed", "The number of images that the remote refused, or that could not be sent.") { $0.failed },
    ]
}
